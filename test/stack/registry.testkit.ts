import { rmSync } from 'node:fs';
import { createServer } from 'node:https';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createAuthority } from './certificates.testkit.js';
import { registryJava } from './installed.testkit.js';
import { Part } from './part.testkit.js';
import { freePorts } from './ports.testkit.js';
import { makePassword, scratchFolder } from './scratch.testkit.js';

export interface PrivateRegistry {
  /** The URL of the Confluent-compatible API. */
  readonly url: string;
  /** The process; after `kill` or `stop` and `start` it has its schemas and ids again. */
  readonly part: Part;
  close(): Promise<void>;
}

/** A registry with a port and data of its own; about 5 s. */
export async function startRegistry(): Promise<PrivateRegistry> {
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`;
  const folder = scratchFolder('registry');
  const part = new Part({
    name: 'The schema registry',
    command: 'java',
    args: await registryJava({
      'quarkus.http.host': '127.0.0.1',
      'quarkus.http.port': String(port),
      'quarkus.datasource.jdbc.initial-size': '2',
      'quarkus.datasource.jdbc.min-size': '2',
      'quarkus.datasource.jdbc.max-size': '8',
    }),
    env: {
      REGISTRY_DATASOURCE_URL: `jdbc:h2:file:${join(folder, 'db')};WRITE_DELAY=0`,
      LOG_LEVEL: 'WARN',
      REGISTRY_LOG_LEVEL: 'WARN',
    },
    log: join(folder, 'log'),
    answers: async () => (await fetch(`${url}/subjects`, { signal: AbortSignal.timeout(5000) })).ok,
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
  return { url, part, close };
}

export interface Doorway {
  /** An `https:` URL of the same API, without the user. */
  readonly url: string;
  readonly ca: string;
  readonly username: string;
  readonly password: string;
  close(): Promise<void>;
}

/** TLS and HTTP basic authentication before a registry, whose URL it takes. */
export async function openDoorway(registry: string, username = 'truss'): Promise<Doorway> {
  const { ca, server: certificate } = await createAuthority();
  const password = makePassword();
  const expected = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const { origin, pathname } = new URL(registry);
  const server = createServer({ key: certificate.key, cert: certificate.cert }, (incoming, answer) => {
    const { authorization, host: _, ...headers } = incoming.headers;
    if (authorization !== expected) {
      answer.writeHead(401, { 'www-authenticate': 'Basic realm="registry"' }).end();
      return;
    }
    const onward = request(new URL(incoming.url ?? '/', origin), { method: incoming.method, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    onward.once('error', () => answer.writeHead(502).end());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url, ca, username, password, close };
}
