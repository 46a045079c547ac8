import { type EntryOf, parseCanonicalJson, trustStoreSchema } from '#lib/ledger';
import type { Context } from './context.js';
import type { Stored } from './entry-index.js';

/** The keys of the trust store that the evaluation pins. By it every service folds the log alike, so no other key may stand on a chain. */
export async function readPinnedKeys(
  context: Context,
  stored: Stored,
  started: EntryOf<'eval_started'>,
): Promise<ReadonlySet<string> | null> {
  const bytes = await context.bodies.bytes(stored, started.body.trust_store, true);
  if (bytes === null) return null;
  try {
    return new Set(trustStoreSchema.parse(parseCanonicalJson(bytes)).keys.map(({ id }) => id));
  } catch {
    context.findings.error('plan_mismatch', stored, 'what the evaluation pins as its trust store is none');
    return null;
  }
}
