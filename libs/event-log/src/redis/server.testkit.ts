import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

/** A Redis of a test's own, which keeps nothing: it can be killed, halted and started again, empty. */
export interface RedisServer {
  readonly url: string;
  start(): Promise<void>;
  kill(): Promise<void>;
  /** Takes connections and answers nothing, until `resume`. */
  halt(): void;
  resume(): void;
  remove(): Promise<void>;
}

export interface RedisServerOptions {
  /** Further arguments of `redis-server`. */
  readonly args?: readonly string[];
  /** PEM: connections by TLS, and no others. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

export async function redisServer({ args = [], tls }: RedisServerOptions = {}): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'truss-redis-'));
  const port = await freePort();
  const url = `${tls === undefined ? 'redis' : 'rediss'}://127.0.0.1:${port}`;
  const listen = ['--bind', '127.0.0.1', '--save', '', '--dir', folder];
  if (tls === undefined) listen.push('--port', String(port));
  else {
    for (const [name, pem] of Object.entries(tls)) writeFileSync(join(folder, `${name}.pem`), pem, { mode: 0o600 });
    const files = ['--tls-key-file', join(folder, 'key.pem'), '--tls-cert-file', join(folder, 'cert.pem')];
    listen.push('--port', '0', '--tls-port', String(port), ...files, '--tls-auth-clients', 'no');
  }
  let running: ChildProcess | null = null;
  const server: RedisServer = {
    url,
    async start() {
      running = spawn('redis-server', [...listen, ...args], { stdio: 'ignore' });
      await answering(url, running);
    },
    async kill() {
      if (running === null) return;
      const ended = once(running, 'exit');
      running.kill('SIGKILL');
      running = null;
      await ended;
    },
    halt: () => void running?.kill('SIGSTOP'),
    resume: () => void running?.kill('SIGCONT'),
    async remove() {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

async function answering(url: string, server: ChildProcess): Promise<void> {
  const probe = new Redis(url, {
    retryStrategy: () => 20,
    maxRetriesPerRequest: null,
    ...(url.startsWith('rediss:') ? { tls: { rejectUnauthorized: false } } : {}),
  });
  probe.on('error', () => {});
  const failed = once(server, 'exit').then(() => {
    throw new Error('redis-server did not start');
  });
  try {
    // A server that asks for a password is up too.
    await Promise.race([probe.ping().catch(() => {}), failed]);
  } finally {
    probe.disconnect();
    failed.catch(() => {});
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
