import { type EvaluationState, initialState, observe } from '#lib/evaluation';
import { attachedBody, emptyChains, type EvalRunId, fold, openEntryAsync, typedEntry } from '#lib/ledger';
import type { LogRecord } from '#lib/event-log';
import type { ReadDatabase } from './database.js';

const BATCH = 256;

/**
 * What the evaluation's own ledger says: its verified live chain, without the ledgers of its runs. For lists and reports,
 * where reading every run would take long and add nothing.
 */
export async function readParent(database: ReadDatabase, evaluation: EvalRunId): Promise<EvaluationState> {
  const state = initialState(evaluation);
  const live = emptyChains(evaluation);
  const take = async (batch: readonly LogRecord[]): Promise<void> => {
    const opened = await Promise.all(batch.map(({ record }) => openEntryAsync(record, database.keys)));
    for (const one of opened) {
      if (one.kind !== 'entry' || one.entry.ledger !== evaluation) continue;
      const attached = attachedBody(one.entry);
      const bytes = attached === null ? null : await database.log.attachment(attached.sha256);
      if (attached !== null && bytes === null) {
        fold(live, one.entry);
        continue;
      }
      const entry = typedEntry(one.entry, bytes ?? undefined);
      observe(state, entry, fold(live, entry));
    }
  };
  // The bytes say of which ledger a record claims to be; what they claim is checked only where it matters here.
  const claim = Buffer.from(`"ledger":"${evaluation}",`);
  let batch: LogRecord[] = [];
  for await (const record of database.log.records(evaluation)) {
    if (
      !Buffer.from(
        record.record.payload.buffer,
        record.record.payload.byteOffset,
        record.record.payload.length,
      ).includes(claim)
    )
      continue;
    batch.push(record);
    if (batch.length < BATCH) continue;
    await take(batch);
    batch = [];
  }
  await take(batch);
  return state;
}
