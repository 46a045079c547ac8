import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { createAuthority } from './certificates.testkit.js';
import { Part } from './part.testkit.js';
import { freePorts } from './ports.testkit.js';
import { makePassword, scratchFolder } from './scratch.testkit.js';

export interface PrivateRedis {
  /** Without the user and the password, which a secure one needs. */
  readonly url: string;
  /** The process; after `kill` or `stop` and `start` it is empty. */
  readonly part: Part;
  close(): Promise<void>;
}

export interface SecureRedis extends PrivateRedis {
  readonly ca: string;
  readonly passwords: ReadonlyMap<string, string>;
}

/** A Redis with a port of its own and no persistence. */
export async function startRedis(): Promise<PrivateRedis> {
  const [port = 0] = await freePorts(1);
  const url = `redis://127.0.0.1:${port}`;
  const { part, close } = await launch([`port ${port}`], () => ping(new Redis(url, ONCE)));
  return { url, part, close };
}

/** A Redis that speaks only TLS and knows only these users: the rules of each, as in the ACLs of Redis. Passwords are made now. */
export async function startSecureRedis(users: Readonly<Record<string, string>>): Promise<SecureRedis> {
  const [port = 0] = await freePorts(1);
  const { ca, server } = await createAuthority();
  const passwords = new Map([...Object.keys(users), PROBE].map((name) => [name, makePassword()]));
  const url = `rediss://127.0.0.1:${port}`;
  const files = { 'ca.pem': ca, 'cert.pem': server.cert, 'key.pem': server.key };
  const lines = [
    'port 0',
    `tls-port ${port}`,
    'tls-ca-cert-file ca.pem',
    'tls-cert-file cert.pem',
    'tls-key-file key.pem',
    'tls-auth-clients no',
    'user default off',
    ...Object.entries({ ...users, [PROBE]: '+ping +info' }).map(
      ([name, rules]) => `user ${name} on >${passwords.get(name)} ${rules}`,
    ),
  ];
  const probe = { ...ONCE, username: PROBE, password: passwords.get(PROBE) ?? '', tls: { ca } };
  const { part, close } = await launch(lines, () => ping(new Redis(url, probe)), files);
  return { url, part, close, ca, passwords };
}

/** The user by whom the testkit sees that Redis is up. */
const PROBE = 'probe';
const ONCE = { lazyConnect: true, retryStrategy: () => null } as const;

async function ping(client: Redis): Promise<boolean> {
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.ping()) === 'PONG';
  } finally {
    client.disconnect();
  }
}

async function launch(
  lines: readonly string[],
  answers: () => Promise<boolean>,
  files: Readonly<Record<string, string>> = {},
): Promise<{ part: Part; close: () => Promise<void> }> {
  const folder = scratchFolder('redis');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  const file = join(folder, 'redis.conf');
  // `dir` comes first: the other files are relative to it.
  writeFileSync(file, [`dir ${folder}`, 'bind 127.0.0.1', 'save ""', 'appendonly no', ...lines, ''].join('\n'), {
    mode: 0o600,
  });
  const part = new Part({
    name: 'Redis',
    command: 'redis-server',
    args: [file],
    log: join(folder, 'log'),
    answers,
    within: 20_000,
  });
  const close = async (): Promise<void> => {
    await part.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await part.start();
  } catch (error) {
    await close();
    throw error;
  }
  return { part, close };
}
