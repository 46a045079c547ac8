import type { AppendAnswer } from '#lib/event-log';
import {
  emptyChains,
  type Entry,
  type EntryHash,
  type EvalRunId,
  type Joining,
  type LiveChains,
  mayContinue,
  writerOf,
} from '#lib/ledger';
import type { Process } from './process.testkit.js';

export type Follower = (entry: Entry, joining: Joining) => void;

interface Awaited {
  readonly entries: readonly Entry[];
  readonly seen: Set<EntryHash>;
  superseded: boolean;
  readonly answer: (answer: AppendAnswer) => void;
}

const ENDS: ReadonlySet<string> = new Set(['run_sealed', 'eval_closed', 'eval_report']);

/** One evaluation as a process has read it, page by page: `FoldTail` of the adapter. */
export class Tail {
  readonly live: LiveChains;
  next = 0;
  from = 0;
  users = 0;
  /** Its history is folded. */
  attached = false;
  /** Told of what the standing reader takes. */
  takesLive = false;
  readonly followers = new Set<Follower>();
  readonly whenAttached: (() => void)[] = [];
  private readonly awaited = new Map<EntryHash, Awaited>();
  private queue: ({ readonly position: number; readonly entry: Entry } | (() => void))[] = [];
  private level = false;
  private draining = false;

  constructor(
    readonly evaluation: EvalRunId,
    readonly partition: number,
    private readonly process: Process,
    private readonly page: number,
    private readonly foldDelay: number,
  ) {
    this.live = emptyChains(evaluation);
  }

  /** History is folded: what came live meanwhile follows. */
  isLevel(): void {
    this.level = true;
    this.attached = true;
    for (const ready of this.whenAttached.splice(0)) ready();
    this.drain();
  }

  onceAttached(ready: () => void): void {
    if (this.attached) ready();
    else this.whenAttached.push(ready);
  }

  take(position: number, entry: Entry): void {
    this.queue.push({ position, entry });
    this.drain();
  }

  get isIdle(): boolean {
    return this.level && this.queue.length === 0 && !this.draining;
  }

  settled(done: () => void): void {
    if (this.isIdle) return done();
    this.queue.push(done);
    this.drain();
  }

  readBack(entries: readonly Entry[], answer: (answer: AppendAnswer) => void): void {
    const awaited: Awaited = { entries, seen: new Set(), superseded: false, answer };
    for (const { hash } of entries) this.awaited.set(hash, awaited);
  }

  awaits(entries: readonly Entry[]): boolean {
    return entries.some(({ hash }) => this.awaited.has(hash));
  }

  forget(entries: readonly Entry[]): void {
    for (const { hash } of entries) this.awaited.delete(hash);
  }

  takes(entries: readonly Entry[]): boolean {
    const [first] = entries;
    return first !== undefined && this.process.world.rules.joins(this.live, first);
  }

  /** Checking a page takes its time; then it is folded at once, and what it answers is answered. */
  private drain(): void {
    if (this.draining || !this.level || this.queue.length === 0) return;
    this.draining = true;
    let records = 0;
    while (records < this.page && typeof this.queue[records] === 'object') records++;
    const page = this.queue.splice(0, records);
    const { world } = this.process;
    world.later(records === 0 ? 0 : world.chance.below(this.foldDelay), this.process, () => {
      this.fold(page.flatMap((item) => (typeof item === 'function' ? [] : [item])));
      for (let mark = this.queue[0]; typeof mark === 'function'; mark = this.queue[0]) {
        this.queue.shift();
        mark();
      }
      this.draining = false;
      this.drain();
    });
  }

  fold(records: readonly { readonly position: number; readonly entry: Entry }[]): void {
    for (const { position, entry } of records) {
      if (this.next === 0) this.from = position;
      this.next = position + 1;
      const joining = this.process.world.rules.fold(this.live, entry);
      const awaited = this.awaited.get(entry.hash);
      awaited?.seen.add(entry.hash);
      if (awaited !== undefined && joining === 'superseded') awaited.superseded = true;
      for (const follower of [...this.followers]) follower(entry, joining);
    }
    this.answer();
  }

  private answer(): void {
    for (const awaited of new Set(this.awaited.values())) {
      const { entries, seen, superseded, answer } = awaited;
      if (!superseded && seen.size < entries.length) continue;
      this.forget(entries);
      const last = entries[entries.length - 1] as Entry;
      const stands = ENDS.has(last.type) || mayContinue(this.live, last.ledger, writerOf(last));
      answer(!superseded && stands ? 'confirmed' : 'lost');
    }
  }
}
