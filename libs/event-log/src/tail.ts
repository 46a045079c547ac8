import {
  emptyChains,
  type Entry,
  type EntryHash,
  type EvalRunId,
  fold,
  type Joining,
  type KeyRing,
  type LiveChains,
} from '#lib/ledger';
import { tell } from './listening.js';
import type { LogListener, LogRecord } from './port.js';
import { type ReadRecord, readRecord } from './reading.js';
import { PAGE, type Store } from './store.js';

/** One evaluation as this process has read it: the fold of its records up to `position`, and who listens. */
export class Tail {
  readonly live: LiveChains;
  /** Appends and follows in flight: while there are any, the tail must stay the one of its evaluation. */
  users = 0;
  position = 0;
  readonly #followers = new Set<LogListener>();
  #reading: Promise<void> | null = null;

  constructor(
    readonly evaluation: EvalRunId,
    private readonly store: Store,
    private readonly keys: KeyRing,
  ) {
    this.live = emptyChains(evaluation);
  }

  get followed(): boolean {
    return this.#followers.size > 0;
  }

  /** Whether all that the store holds has been folded. */
  get current(): boolean {
    return this.#reading === null && this.store.end(this.evaluation) === this.position;
  }

  /** Folds and delivers what stands in the store as of now. */
  advance(): Promise<void> {
    if (this.#reading !== null) return this.#reading;
    if (this.current) return Promise.resolve();
    this.#reading = this.#read();
    return this.#reading;
  }

  async #read(): Promise<void> {
    try {
      for (let page = this.#page(this.position); page.length > 0; page = this.#page(this.position)) {
        for (const [position, read] of await this.#verifiedRecords(page, NONE)) {
          if (read.kind === 'entry') this.take(position, read.entry);
          else {
            if (read.kind === 'bodiless') fold(this.live, read.entry);
            this.skip(position, read.reason);
          }
        }
      }
    } finally {
      // In the turn that found no more, so that a later call reads again.
      this.#reading = null;
    }
  }

  /** Folds the verified entry at the next position and tells the followers. */
  take(position: number, entry: Entry): Joining {
    const joining = fold(this.live, entry);
    this.position = position;
    for (const follower of this.#followers) tell(() => follower.entry(entry, joining, this.live, position));
    return joining;
  }

  /** Passes the next position, at which there is no entry to fold. */
  skip(position: number, reason: string): void {
    this.position = position;
    for (const follower of this.#followers) tell(() => follower.foreign?.(position, reason));
  }

  /** Delivers everything to the listener from the first record on, then keeps it. Resolves when it is caught up. */
  async add(listener: LogListener): Promise<void> {
    if (this.position === 0 && this.#reading === null) {
      this.#followers.add(listener);
      return this.advance();
    }
    await this.advance();
    // The shared fold is ahead of what this listener has heard, so it hears along a fold of its own.
    const own = emptyChains(this.evaluation);
    const verified = joined(this.live);
    let heard = 0;
    while (heard < this.position) {
      for (const [position, read] of await this.#verifiedRecords(this.#page(heard), verified)) {
        // What the shared fold has not reached yet comes from there, so that nobody is told out of order.
        if (position > this.position) break;
        heard = position;
        if (read.kind === 'foreign') tell(() => listener.foreign?.(position, read.reason));
        else {
          const joining = fold(own, read.entry);
          if (read.kind === 'entry') tell(() => listener.entry(read.entry, joining, own, position));
          else tell(() => listener.foreign?.(position, read.reason));
        }
      }
    }
    this.#followers.add(listener);
  }

  remove(listener: LogListener): void {
    this.#followers.delete(listener);
  }

  #page(after: number): readonly LogRecord[] {
    return this.store.page(this.evaluation, after, PAGE);
  }

  /** Signatures are checked side by side on the thread pool; the order stays that of the log. */
  async #verifiedRecords(
    page: readonly LogRecord[],
    verified: ReadonlySet<EntryHash>,
  ): Promise<(readonly [number, ReadRecord])[]> {
    const options = {
      keys: this.keys,
      evaluation: this.evaluation,
      verified,
      attachment: (sha256: string) => this.store.attachment(sha256),
    };
    return Promise.all(
      page.map(async ({ position, record }) => [position, await readRecord(record, options)] as const),
    );
  }
}

const NONE: ReadonlySet<EntryHash> = new Set();

/** Hashes of the entries that joined: their signatures were checked when they did. */
function joined({ parent, children }: LiveChains): ReadonlySet<EntryHash> {
  const hashes = new Set(parent?.hashes);
  for (const { chain } of children.values()) for (const hash of chain?.hashes ?? []) hashes.add(hash);
  return hashes;
}
