import type { BodyOf, ChildRunId, EntryHash } from '#lib/ledger';
import { genesisHash } from '#lib/ledger';
import type { Context } from './context.js';
import type { Stored } from './entry-index.js';
import type { Reader } from './read-records.js';
import { EvaluationWalk, type Walked } from './walk-evaluation.js';

/**
 * Walks an evaluation while its records are read, and forgets each entry of its own chain and each run once it was checked, so that memory holds the runs under way and a summary of the
 * others. It answers only where all is in order: one chain of the evaluation without a branch, no error, and nothing that came for a run after it was
 * forgotten. Anything else is for a reader that holds everything, so that a finding does not depend on the order of records.
 */
export class ReadingWalk implements Reader {
  readonly #walk: EvaluationWalk;
  readonly #parent: EntryHash[] = [];
  /** Entries of the evaluation's own ledger that wait for the one before them, by its hash. */
  readonly #waiting = new Map<EntryHash, Stored>();
  #head: EntryHash;
  #branches = false;

  constructor(private readonly context: Context) {
    this.#walk = new EvaluationWalk(context, true);
    this.#head = genesisHash(context.evaluation);
  }

  entry(stored: Stored): void {
    if (stored.ledger !== this.context.evaluation) return;
    // The one before it is followed already, so that two rest on it; or two wait for it.
    const followed = stored.seq < this.#parent.length;
    if (followed || this.#waiting.has(stored.prev)) this.#branches = true;
    this.#waiting.set(stored.prev, stored);
  }

  async advance(): Promise<boolean> {
    while (this.#inOrder) {
      const next = this.#waiting.get(this.#head);
      if (next === undefined || next.seq !== this.#parent.length || !this.#isReady(next)) break;
      this.#waiting.delete(this.#head);
      this.#parent.push(next.hash);
      this.#head = next.hash;
      await this.#walk.next(next);
    }
    return this.#inOrder;
  }

  /** `null` where not everything is in order. */
  async finish(): Promise<Walked | null> {
    if (!this.#inOrder || this.#waiting.size > 0 || this.#parent.length === 0) return null;
    const walked = await this.#walk.finish(this.#parent);
    return this.#inOrder && !this.#restsOnForgotten(walked) ? walked : null;
  }

  get #inOrder(): boolean {
    return !this.#branches && !this.context.index.disturbed && this.context.findings.errors.size === 0;
  }

  /** An anchor waits for the run that it names, and for what it lists as superseded. */
  #isReady(stored: Stored): boolean {
    if (stored.type !== 'child_anchor') return true;
    const { child_run_id, head_hash, entries, superseded } = stored.body as BodyOf<'child_anchor'>;
    const { index } = this.context;
    return (
      superseded.hashes.every((hash) => index.get(hash) !== undefined) &&
      this.#isWhole(child_run_id, head_hash, entries)
    );
  }

  #isWhole(child: ChildRunId, head: EntryHash, entries: number): boolean {
    let hash = head;
    for (let seq = entries - 1; seq >= 0; seq--) {
      const entry = this.context.index.get(hash);
      if (entry?.ledger !== child || entry.seq !== seq) return false;
      hash = entry.prev;
    }
    return true;
  }

  /** What is on no chain is judged by what it rests on, which may be among what was forgotten. */
  #restsOnForgotten({ onChain }: Walked): boolean {
    const { index } = this.context;
    if (!index.anySettled) return false;
    for (const ledger of index.ledgers) {
      for (const { hash, seq, prev } of index.ledger(ledger)) {
        if (seq > 0 && !onChain.has(hash) && index.get(prev) === undefined) return true;
      }
    }
    return false;
  }
}
