import type { BodyOf, EntryType, Writer } from './bodies.js';
import { type EntryHeader, genesisHash, type OpenedEntry, sameWriter, writerOf } from './entry.js';
import type { ChildRunId, EntryHash, EvalRunId, LedgerId } from './ids.js';
import { mayWrite } from './roles.js';

/** The entries of one ledger that joined, by hash, and who may write the next one. */
export interface Chain {
  readonly hashes: EntryHash[];
  writer: Writer;
}

export interface LiveChild {
  /** Hash of its `child_requested`. */
  readonly requested: EntryHash;
  chain: Chain | null;
  sealed: boolean;
  anchored: boolean;
}

/** The live chains of an evaluation: rules 1 and 4 of DESIGN.md's section on writing. Fold it in log order from the first record. */
export interface LiveChains {
  readonly eval: EvalRunId;
  parent: Chain | null;
  readonly children: Map<ChildRunId, LiveChild>;
  closed: EntryHash | null;
  report: EntryHash | null;
}

/** The part of an entry on which joining depends. `openEntry` and `typedEntry` both give it: the bodies that count here are always in the entry. */
export type LinkedEntry = EntryHeader & Pick<OpenedEntry, 'type' | 'hash' | 'body'>;

export type Joining = 'joined' | 'duplicate' | 'superseded';

export function emptyChains(evaluation: EvalRunId): LiveChains {
  return { eval: evaluation, parent: null, children: new Map(), closed: null, report: null };
}

export function headOf(chain: Chain): EntryHash {
  return chain.hashes[chain.hashes.length - 1] as EntryHash;
}

export function chainOf(live: LiveChains, ledger: LedgerId): Chain | null {
  return ledger === live.eval ? live.parent : (live.children.get(ledger as ChildRunId)?.chain ?? null);
}

/** True while nothing that was read displaces this writer or ends this ledger. */
export function mayContinue(live: LiveChains, ledger: LedgerId, writer: Writer): boolean {
  const chain = chainOf(live, ledger);
  if (chain === null || live.closed !== null || !sameWriter(chain.writer, writer)) return false;
  if (ledger === live.eval) return true;
  const child = live.children.get(ledger as ChildRunId);
  return child !== undefined && !child.sealed && !child.anchored;
}

/** Whether the entry would join if it came next: by its structure, never by its position, time or what it claims of the world. */
export function joins(live: LiveChains, entry: LinkedEntry): boolean {
  if (entry.eval !== live.eval) return false;
  const onParent = entry.ledger === live.eval;
  if (!mayWrite(entry.role, onParent ? 'evaluation' : 'child', entry.type)) return false;
  if (entry.type === 'eval_report') {
    return (
      onParent &&
      live.closed !== null &&
      live.report === null &&
      entry.prev === live.closed &&
      entry.seq === live.parent?.hashes.length
    );
  }
  if (live.closed !== null) return false;
  if (onParent) return extendsChain(live.parent, entry, genesisHash(live.eval), 'eval_started');
  const child = live.children.get(entry.ledger as ChildRunId);
  if (child === undefined || child.sealed || child.anchored) return false;
  return extendsChain(child.chain, entry, child.requested, 'run_started');
}

function extendsChain(chain: Chain | null, entry: LinkedEntry, origin: EntryHash, first: EntryType): boolean {
  if (chain === null) return entry.seq === 0 && entry.prev === origin && entry.type === first;
  if (entry.type === first || entry.seq !== chain.hashes.length || entry.prev !== headOf(chain)) return false;
  if (entry.type !== 'writer_changed') return sameWriter(chain.writer, entry);
  const { displaced } = entry.body as BodyOf<'writer_changed'>;
  return sameWriter(chain.writer, displaced) && !sameWriter(displaced, writerOf(entry));
}

/** Takes the next entry in log order into the fold, in place, and says what became of it. */
export function fold(live: LiveChains, entry: LinkedEntry): Joining {
  if (!joins(live, entry)) {
    return chainOf(live, entry.ledger)?.hashes[entry.seq] === entry.hash ? 'duplicate' : 'superseded';
  }
  const onParent = entry.ledger === live.eval;
  if (onParent) live.parent = extended(live.parent, entry);
  else {
    const child = live.children.get(entry.ledger as ChildRunId) as LiveChild;
    child.chain = extended(child.chain, entry);
    if (entry.type === 'run_sealed') child.sealed = true;
    return 'joined';
  }
  if (entry.type === 'child_requested') {
    const { child_run_id } = entry.body as BodyOf<'child_requested'>;
    if (!live.children.has(child_run_id)) {
      live.children.set(child_run_id, { requested: entry.hash, chain: null, sealed: false, anchored: false });
    }
  } else if (entry.type === 'child_anchor') {
    const child = live.children.get((entry.body as BodyOf<'child_anchor'>).child_run_id);
    if (child !== undefined) child.anchored = true;
  } else if (entry.type === 'eval_closed') live.closed = entry.hash;
  else if (entry.type === 'eval_report') live.report = entry.hash;
  return 'joined';
}

// The report is the one entry that is not by the ledger's writer, so it does not become the writer.
function extended(chain: Chain | null, entry: LinkedEntry): Chain {
  if (chain === null) return { hashes: [entry.hash], writer: writerOf(entry) };
  chain.hashes.push(entry.hash);
  if (entry.type === 'writer_changed') chain.writer = writerOf(entry);
  return chain;
}
