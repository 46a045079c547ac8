import { Agent } from 'node:https';
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import type { Type } from 'avsc';
import type { RegistryConnection } from './connection.js';
import { SchemaError } from './errors.js';
import { typeOf } from './schema-files.js';

/** What a service asks of a registry. It never registers. */
export interface RegistryReader {
  /** @throws SchemaError `schema_unknown`, `schema_incompatible`, `registry_unavailable` */
  schema(id: number): Promise<Type>;
  /** The id of exactly this schema under a subject. @throws SchemaError `schema_unknown`, `registry_unavailable` */
  idOf(subject: string, text: string): Promise<number>;
}

/** How long a registry may take for an answer. */
export const REGISTRY_DEADLINE_MS = 5_000;
// All of them, because the client keeps what one instance sets for the next. Whoever asks knows better when to ask again.
const NO_RETRY = { retries: 0, maxRetryTimeInSecs: 1, initialRetryTimeInSecs: 0.1, factor: 0.2, multiplier: 2 };
/** What the client says where the registry did not answer in the registry's own words, as a proxy does. */
const NOT_THE_REGISTRY = /Error, status \d+/;

/** The client with what it lacks: a deadline on each call, and errors that say whether to ask again. */
export function createRegistryReader(
  connection: RegistryConnection,
  deadlineMs = REGISTRY_DEADLINE_MS,
): RegistryReader {
  const { url, username, password, tls } = connection;
  const client = new SchemaRegistry({
    host: url.replace(/\/+$/, ''),
    clientId: 'truss',
    retry: NO_RETRY,
    ...(username === undefined ? {} : { auth: { username, password: password ?? '' } }),
    ...(url.startsWith('https:') ? { agent: new Agent({ ...tls }) } : {}),
    middlewares: [() => ({ prepareRequest: async (next) => (await next()).enhance({ timeout: deadlineMs }) })],
  });

  async function ask<R>(what: string, work: () => Promise<R>): Promise<R> {
    try {
      return await within(deadlineMs, work());
    } catch (cause) {
      throw classified(what, url, cause);
    }
  }

  return {
    schema: (id) =>
      ask(`schema ${id}`, async () => {
        const found: object = await client.getSchema(id).catch(foreignSchema(id));
        if (!('typeName' in found)) throw new SchemaError('schema_incompatible', `schema ${id} is not Avro`);
        // The client's type has the client's options: ours is made from the same schema.
        return typeOf((found as Type).schema({ exportAttrs: true }));
      }),
    idOf: (subject, schema) =>
      ask(`the schema of ${subject}`, () => client.getRegistryIdBySchema(subject, { type: SchemaType.AVRO, schema })),
  };
}

/** A schema that cannot be understood is known, and of no use. */
function foreignSchema(id: number): (cause: unknown) => never {
  return (cause) => {
    if (cause instanceof Error && !('status' in cause)) {
      throw new SchemaError('schema_incompatible', `schema ${id} is no Avro schema: ${cause.message}`, { cause });
    }
    throw cause;
  };
}

class Late extends Error {}

async function within<R>(ms: number, work: Promise<R>): Promise<R> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Late(`no answer in ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function classified(what: string, url: string, cause: unknown): SchemaError {
  if (cause instanceof SchemaError) return cause;
  const said = cause instanceof Error ? cause.message : String(cause);
  const status = statusOf(cause);
  if (status === 404 && !NOT_THE_REGISTRY.test(said)) {
    return new SchemaError('schema_unknown', `the registry has not ${what}: ${said}`, { cause });
  }
  const hint = status === 401 || status === 403 ? ': check the credentials' : '';
  return new SchemaError('registry_unavailable', `the registry ${hostOf(url)} did not give ${what} (${said})${hint}`, {
    cause,
  });
}

/** The client hides the status of a lookup by schema in an error of its own, which it throws for 404 only. */
function statusOf(cause: unknown): number | null {
  if (typeof cause !== 'object' || cause === null) return null;
  if ('status' in cause && typeof cause.status === 'number') return cause.status;
  return 'name' in cause && cause.name === 'ConfluentSchemaRegistryError' ? 404 : null;
}

/** Without a user or password that may stand in it. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'of the configuration';
}
