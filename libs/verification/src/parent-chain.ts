import { type EntryHash, genesisHash, mayWrite } from '#lib/ledger';
import { type ChainRead, readBackwards, readForwards } from './chain.js';
import type { Context } from './context.js';
import type { Stored } from './entry-index.js';

/**
 * Step 2: the evaluation's own chain, read backwards from its report. Without one it is read forwards, to `eval_closed` or as far as it goes.
 */
export function readParent(context: Context): ChainRead {
  const { evaluation, index } = context;
  const origin = genesisHash(evaluation);
  const reports = index
    .ledger(evaluation)
    .filter((entry) => entry.type === 'eval_report' && mayWrite(entry.role, 'evaluation', entry.type))
    .toSorted((a, b) => (a.hash < b.hash ? -1 : 1));
  const whole = reports.find((report) => isWhole(context, report));
  if (whole !== undefined) return readBackwards(context, whole, origin);
  const entries = readForwards(context, evaluation, origin, restedOn(context));
  // A report whose chain is broken says where; but one that a chain up to its own close contradicts is no part of it.
  const [broken] = reports;
  if (broken !== undefined && entries.at(-1)?.type !== 'eval_closed') return readBackwards(context, broken, origin);
  if (entries.length === 0) {
    context.findings.error(
      'genesis_missing',
      { ledger: evaluation, seq: 0 },
      'the first entry of the ledger is missing',
    );
    return { entries, whole: false };
  }
  return { entries, whole: true };
}

function isWhole({ index, evaluation }: Context, report: Stored): boolean {
  let entry: Stored = report;
  if (index.get(report.prev)?.type !== 'eval_closed') return false;
  while (entry.seq > 0) {
    const below = index.get(entry.prev);
    if (below === undefined || below.ledger !== evaluation || below.seq !== entry.seq - 1) return false;
    entry = below;
  }
  return entry.prev === genesisHash(evaluation);
}

/** What the first entries of the children rest on. */
function restedOn({ index, evaluation }: Context): ReadonlySet<EntryHash> {
  const hashes = new Set<EntryHash>();
  for (const ledger of index.ledgers) {
    if (ledger === evaluation) continue;
    for (const entry of index.ledger(ledger)) if (entry.seq === 0) hashes.add(entry.prev);
  }
  return hashes;
}
