import type { EntryHash } from '#lib/ledger';
import type { Context } from './context.js';
import { isAccepted } from './key-table.js';
import type { Walked } from './walk-evaluation.js';

/**
 * Step 10: a key that is retired or stolen still signs for the evaluations whose heads the trust store lists, and for no other; what time an entry claims does not
 * matter. Says whether one operator holds every key that signed a chain.
 */
export function checkKeys(
  context: Context,
  { signed, pinnedKeys }: Pick<Walked, 'signed' | 'pinnedKeys'>,
  head: EntryHash | null,
): boolean {
  const { keys, findings, evaluation } = context;
  const operators = new Set<string>();
  for (const entry of signed.values()) {
    const key = keys.get(entry.key);
    if (key === undefined) continue;
    operators.add(key.operator);
    if (pinnedKeys?.has(key.id) === false) {
      findings.error('key_unknown', entry, `key ${key.id} is not in the trust store that this evaluation pins`);
    }
    if (head !== null && !isAccepted(key, head)) {
      findings.error(
        'key_revoked',
        entry,
        `key ${key.id} is ${key.status}, and the trust store does not accept this evaluation from it`,
      );
    }
  }
  if (operators.size !== 1) return false;
  const [operator] = operators;
  findings.information(
    'single_operator',
    { ledger: evaluation },
    `${operator} holds every key that signed: only a head saved elsewhere can show that all was signed again`,
  );
  return true;
}
