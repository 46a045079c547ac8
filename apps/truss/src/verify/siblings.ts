import { attachedBody, type EvalRunId, openEntryAsync, typedEntry } from '#lib/ledger';
import type { ReadDatabase } from '../database.js';

/** The other evaluations in this log of a contract that this one runs too: nobody should see only the best of them. */
export async function siblingsOf(database: ReadDatabase, evaluation: EvalRunId): Promise<EvalRunId[]> {
  const own = await contractsOf(database, evaluation);
  if (own.length === 0) return [];
  const siblings: EvalRunId[] = [];
  for await (const other of database.log.evaluations()) {
    if (other === evaluation) continue;
    const digests = await contractsOf(database, other);
    if (digests.some((digest) => own.includes(digest))) siblings.push(other);
  }
  return siblings;
}

/** Digests of the contracts that the plan names; none where no plan can be read. */
async function contractsOf({ log, keys }: ReadDatabase, evaluation: EvalRunId): Promise<string[]> {
  for await (const { record } of log.records(evaluation)) {
    const opened = await openEntryAsync(record, keys);
    if (opened.kind !== 'entry' || opened.entry.type !== 'eval_started') continue;
    try {
      const attached = attachedBody(opened.entry);
      const bytes = attached === null ? null : await log.attachment(attached.sha256);
      const entry = typedEntry(opened.entry, bytes ?? undefined);
      return entry.type === 'eval_started' ? entry.body.plan.contracts.map(({ digest }) => digest) : [];
    } catch {
      // Whatever is wrong with it, the verification of that evaluation says so.
      return [];
    }
  }
  return [];
}
