import {
  type BodyOf,
  type EntryHash,
  type LedgerId,
  type LedgerKind,
  mayWrite,
  sameWriter,
  type Writer,
  writerOf,
} from '#lib/ledger';
import { faultAfter } from './check-links.js';
import type { Context } from './context.js';
import type { Stored } from './entry-index.js';

/** A ledger's entries as far as they could be followed, by seq. `whole`: from seq 0 to the head without a fault. */
export interface ChainRead {
  readonly entries: readonly Stored[];
  readonly whole: boolean;
}

/**
 * Follows `prev` from a head down to seq 0. Where an entry is missing, its place is named, and what is below it is followed upwards
 * as far as it goes, so that nothing there passes for superseded.
 */
export function readBackwards(context: Context, head: Stored, origin: EntryHash): ChainRead {
  const { index, findings } = context;
  const reversed: Stored[] = [];
  let entry: Stored | undefined = head;
  for (;;) {
    reversed.push(entry);
    const { seq, prev, ledger }: Stored = entry;
    if (seq === 0) return { entries: reversed.reverse(), whole: true };
    const below: Stored | undefined = index.get(prev);
    const place = { ledger, seq: seq - 1 };
    if (below !== undefined && below.ledger === ledger && below.seq === seq - 1) {
      entry = below;
      continue;
    }
    const defect = index.defect(prev);
    if (defect !== undefined) findings.error(defect.code, { ...place, position: defect.position }, defect.reason);
    else if (below !== undefined) {
      findings.error(
        'ledger_mismatch',
        { ledger, seq, position: entry.position },
        `its prev is ${below.ledger}#${below.seq}, which is not the entry before it`,
      );
    } else if (seq === 1) findings.error('genesis_missing', place, 'the first entry of the ledger is missing');
    else findings.error('sequence_gap', place, `the entry ${prev} is missing`);
    const lower = readForwards(context, ledger, origin).filter((one) => one.seq < seq - 1);
    if (lower.length < seq - 1 && seq > 1) missingFrom(context, ledger, lower.length);
    return { entries: [...lower, ...reversed.reverse()], whole: false };
  }
}

function missingFrom({ findings }: Context, ledger: LedgerId, seq: number): void {
  if (seq === 0) findings.error('genesis_missing', { ledger, seq }, 'the first entry of the ledger is missing');
  else findings.error('sequence_gap', { ledger, seq }, 'the entry is missing');
}

/**
 * The longest chain from the origin that obeys the rules of joining, for a ledger of which no anchor or report names the head. A branch that was
 * closed or sealed goes before one that was not; one on which other ledgers rest before one on which none does; and where
 * writers part, a take-over on which its writer went on was confirmed, so it goes before what the displaced one wrote.
 */
export function readForwards(
  context: Context,
  ledger: LedgerId,
  origin: EntryHash,
  restsOn: ReadonlySet<EntryHash> = new Set(),
): Stored[] {
  const kind: LedgerKind = ledger === context.evaluation ? 'evaluation' : 'child';
  const sorted = context.index.ledger(ledger).toSorted((a, b) => a.seq - b.seq || (a.hash < b.hash ? -1 : 1));
  const writers = new Map<EntryHash, Writer>();
  for (const entry of sorted) {
    const before = context.index.get(entry.prev);
    const isNext = entry.seq === 0 || (before?.seq === entry.seq - 1 && faultAfter(before.type, entry.type) === null);
    const writer = isNext ? writerAfter(entry, writers.get(entry.prev), origin, kind) : null;
    if (writer !== null) writers.set(entry.hash, writer);
  }
  const best = new Map<EntryHash, Branch>();
  for (const entry of sorted.toReversed()) {
    if (!writers.has(entry.hash)) continue;
    const branch = extend(entry, best.get(entry.hash), restsOn);
    const rival = best.get(entry.prev);
    if (rival === undefined || isBetter(branch, rival)) best.set(entry.prev, branch);
  }
  const chain: Stored[] = [];
  for (let next = best.get(origin); next !== undefined; next = best.get(next.first.hash)) chain.push(next.first);
  return chain;
}

interface Branch {
  readonly first: Stored;
  readonly length: number;
  readonly ended: boolean;
  readonly restedOn: number;
  readonly confirmedTakeOver: boolean;
}

function extend(entry: Stored, rest: Branch | undefined, restsOn: ReadonlySet<EntryHash>): Branch {
  return {
    first: entry,
    length: 1 + (rest?.length ?? 0),
    ended: rest?.ended ?? (entry.type === 'eval_closed' || entry.type === 'run_sealed'),
    restedOn: (restsOn.has(entry.hash) ? 1 : 0) + (rest?.restedOn ?? 0),
    confirmedTakeOver: entry.type === 'writer_changed' && rest !== undefined,
  };
}

function isBetter(a: Branch, b: Branch): boolean {
  if (a.ended !== b.ended) return a.ended;
  if (a.restedOn !== b.restedOn) return a.restedOn > b.restedOn;
  if (a.confirmedTakeOver !== b.confirmedTakeOver) return a.confirmedTakeOver;
  if (a.length !== b.length) return a.length > b.length;
  return a.first.hash < b.first.hash;
}

/** The writer once this entry joined; `null` where it cannot join. */
function writerAfter(entry: Stored, before: Writer | undefined, origin: EntryHash, kind: LedgerKind): Writer | null {
  if (!mayWrite(entry.role, kind, entry.type) || entry.type === 'eval_report') return null;
  const isFirst = entry.type === (kind === 'evaluation' ? 'eval_started' : 'run_started');
  if (entry.seq === 0) return isFirst && entry.prev === origin ? writerOf(entry) : null;
  if (before === undefined || isFirst) return null;
  if (entry.type !== 'writer_changed') return sameWriter(before, entry) ? before : null;
  const { displaced } = entry.body as BodyOf<'writer_changed'>;
  return sameWriter(before, displaced) && !sameWriter(displaced, entry) ? writerOf(entry) : null;
}
