import { existsSync } from 'node:fs';
import { LogError, type OpenLog, openSqliteLog, type Topic } from '#lib/event-log';
import { acceptedSchema, type EvalAccepted, evalRequestedSchema, evaluationOf } from '#lib/evaluation';
import { KeyStoreError, readTrustStore, trustFile } from '#lib/key-store';
import { type EvalRunId, isEvalRunId, type JsonValue, openTrustStore, type TrustStore } from '#lib/ledger';
import { CliError, EXIT, usageError } from './exit-codes.js';
import type { Place } from './place.js';

/** Who holds the keys that the embedded mode makes. */
export const OPERATOR = 'local';

/** The folder of a database's keys. */
export function keysFolder(db: string): string {
  return `${db}.keys`;
}

export interface ReadDatabase extends OpenLog {
  readonly place: Place;
  readonly trust: TrustStore;
  readonly keys: ReturnType<typeof openTrustStore>;
  /** Reads the bytes of a record, where records are bytes. */
  readonly decode?: (topic: Topic, bytes: Uint8Array) => Promise<JsonValue>;
}

/**
 * Opens a database beside whoever drives it, with the trust store beside it.
 * @throws LogError, KeyStoreError, CliError for an empty trust store
 */
export function openToRead(db: string, place: Place): ReadDatabase {
  const trusted = trustFile(keysFolder(db));
  // First whether there is a database of ours at all: that is the better message.
  if (!existsSync(trusted)) {
    void openSqliteLog({ file: db, keys: { get: () => undefined }, mode: 'read' }).close();
    throw new KeyStoreError(
      'keys_missing',
      `there is no trust store at ${trusted}, so nothing in ${db} can be checked: put the folder back beside the database`,
    );
  }
  const trust = readTrustStore(trusted);
  if (trust.keys.length === 0)
    throw usageError(`the trust store ${trusted} holds no key, so nothing can be checked: put back the one of ${db}`);
  const keys = openTrustStore(trust);
  return { ...openSqliteLog({ file: db, keys, mode: 'read' }), place, trust, keys };
}

/** Opens to read, does the work and closes, whatever comes of it. */
export async function withDatabase<T>(place: Place, work: (database: ReadDatabase) => Promise<T>): Promise<T> {
  return closing(await place.open(), work);
}

/** The same for one evaluation or run: where there is no database, there is no such evaluation either. */
export async function lookInto<T>(place: Place, id: string, work: (database: ReadDatabase) => Promise<T>): Promise<T> {
  let database: ReadDatabase;
  try {
    database = await place.open();
  } catch (error) {
    if (!(error instanceof LogError && error.code === 'log_missing')) throw error;
    throw new CliError(EXIT.notFound, `there is no evaluation ${id}: ${error.message}`, { cause: error });
  }
  return closing(database, work);
}

async function closing<T>(database: ReadDatabase, work: (database: ReadDatabase) => Promise<T>): Promise<T> {
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

export function notFound(id: string, { name, option }: Place): CliError {
  return new CliError(
    EXIT.notFound,
    `there is no evaluation ${id} in ${name}: \`truss list ${option}\` shows what there is`,
  );
}

/** @throws CliError `not found` for what is no id of an evaluation at all */
export function evaluationId(text: string, place: Place): EvalRunId {
  if (!isEvalRunId(text)) throw notFound(text, place);
  return text;
}

/** What was asked for under this id, whether a driver has taken it on yet or not; `null` for an unknown one. */
export async function requestOf({ topics }: OpenLog, evaluation: EvalRunId): Promise<EvalAccepted['request'] | null> {
  for await (const { key, value } of topics.list('eval.accepted')) {
    if (key !== evaluation) continue;
    const accepted = acceptedSchema.safeParse(value);
    if (accepted.success && accepted.data.kind === 'eval') return accepted.data.request;
  }
  for await (const { value } of topics.list('eval.requested')) {
    const requested = evalRequestedSchema.safeParse(value);
    if (requested.success && evaluationOf(requested.data) === evaluation) return requested.data;
  }
  return null;
}
