import { openSqliteLog, type SqliteLogOptions } from './sqlite.js';
import { keys, startedEvaluation } from './fixtures.testkit.js';
import type { EvalRunId } from '#lib/ledger';
import type { LogError } from './port.js';

/** What opening the file is refused with. */
export function failure(mode: SqliteLogOptions['mode'], path: string): Pick<LogError, 'code' | 'message'> {
  try {
    void openSqliteLog({ file: path, keys, mode }).close();
  } catch (error) {
    return error as LogError;
  }
  throw new Error(`${path} was opened`);
}

/** Makes a database with one evaluation of three entries. */
export async function filled(path: string): Promise<EvalRunId> {
  const { log, close } = openSqliteLog({ file: path, keys, mode: 'drive' });
  const { opening, runStarted, parent } = await startedEvaluation();
  await log.append(opening);
  await log.append([runStarted]);
  await close();
  return parent.evaluation;
}

export async function count(items: AsyncIterable<unknown>): Promise<number> {
  let n = 0;
  for await (const _ of items) n++;
  return n;
}
