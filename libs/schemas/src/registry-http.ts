import { request as plain } from 'node:http';
import { request as secure } from 'node:https';
import type { RegistryConnection } from './connection.js';
import { SchemaError } from './errors.js';
import { hostOf, REGISTRY_DEADLINE_MS } from './registry-client.js';

export interface RegistryAnswer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * One call of the registry's API for a deployment. The client cannot be used there: it refuses a union as the schema of a topic, and sets the
 * compatibility after the first registration.
 * @throws SchemaError `registry_unavailable`
 */
export async function askRegistry(
  { url, username, password, tls }: RegistryConnection,
  method: 'GET' | 'PUT' | 'POST',
  path: string,
  body?: unknown,
): Promise<RegistryAnswer> {
  const target = new URL(`${url.replace(/\/+$/, '')}${path}`);
  const { promise, resolve, reject } = Promise.withResolvers<RegistryAnswer>();
  const headers: Record<string, string> = { accept: 'application/vnd.schemaregistry.v1+json' };
  if (username !== undefined) {
    headers['authorization'] = `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}`;
  }
  if (body !== undefined) headers['content-type'] = 'application/vnd.schemaregistry.v1+json';
  const signal = AbortSignal.timeout(REGISTRY_DEADLINE_MS);
  const call = (target.protocol === 'https:' ? secure : plain)(
    target,
    { method, headers, signal, ...tls },
    (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.once('error', reject);
      answer.once('end', () => {
        resolve({ status: answer.statusCode ?? 0, body: jsonOf(Buffer.concat(parts).toString('utf8')) });
      });
    },
  );
  call.once('error', reject);
  call.end(body === undefined ? undefined : JSON.stringify(body));
  try {
    return await promise;
  } catch (cause) {
    const why = signal.aborted ? `no answer in ${REGISTRY_DEADLINE_MS} ms` : (cause as Error).message;
    throw new SchemaError('registry_unavailable', `the registry ${hostOf(url)} cannot be reached (${why})`, { cause });
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
