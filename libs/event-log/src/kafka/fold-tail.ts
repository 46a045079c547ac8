import type { KafkaMessage } from 'kafkajs';
import {
  type AttachmentRef,
  emptyChains,
  type Entry,
  type EntryHash,
  entryHash,
  type EvalRunId,
  fold,
  type Joining,
  joins,
  type KeyId,
  type KeyRing,
  type LiveChains,
  mayContinue,
  type SignedDraft,
  writerOf,
} from '#lib/ledger';
import { ENDS } from '../group-commit.js';
import { tell } from '../listening.js';
import type { AppendAnswer, LogListener } from '../port.js';
import { type ReadRecord, readRecord } from '../reading.js';
import { PAGE } from '../store.js';
import type { Decoding } from './decoding.js';
import type { KafkaObserver } from './observer.js';

export interface TailWorld {
  readonly keys: KeyRing;
  readonly decoding: Decoding;
  readonly observer: KafkaObserver;
  readonly attachment: (sha256: string) => Promise<Uint8Array | null>;
  /** The keys by which an evaluation is folded that pins this trust store; `null`: all that this process has. */
  readonly pinned: (trustStore: AttachmentRef) => Promise<KeyRing> | null;
  readonly failed: (error: unknown) => void;
}

interface Read {
  readonly position: number;
  readonly read: ReadRecord;
  /** Of what stands there, entry or not. */
  readonly hash: EntryHash;
  /** What its record says that it is signed by; the hash does not pin it. */
  readonly keyid: KeyId;
}

interface Awaited {
  readonly drafts: readonly SignedDraft[];
  readonly seen: Set<EntryHash>;
  superseded: boolean;
  readonly answer: (answer: AppendAnswer) => void;
}

/** One evaluation as this process has read it: the fold of its records below `next`, and who listens or waits for a read-back. */
export class FoldTail {
  readonly live: LiveChains;
  /** Everything of the evaluation below it was folded; 0 while nothing was. */
  next = 0;
  /** Where its records begin: what the index said, and then the first that was found. */
  from = 0;
  /** Appends and follows in flight, and followers. */
  users = 0;
  readonly #followers = new Set<LogListener>();
  readonly #verified = new Set<EntryHash>();
  readonly #awaited = new Map<EntryHash, Awaited>();
  #queue: (KafkaMessage | (() => void))[] = [];
  /** Whether its history was read, so that what comes live may be folded. */
  #level = false;
  #draining: Promise<void> | null = null;
  #keys: KeyRing;

  constructor(
    readonly evaluation: EvalRunId,
    readonly partition: number,
    private readonly world: TailWorld,
  ) {
    this.live = emptyChains(evaluation);
    this.#keys = world.keys;
  }

  /** Records that wait to be folded. */
  get queued(): number {
    return this.#queue.length;
  }

  /** Folds a page of history. */
  history(records: readonly KafkaMessage[]): Promise<void> {
    return this.#fold(records);
  }

  /** History is folded: what came live meanwhile follows. */
  level(): void {
    this.#level = true;
    this.#drain();
  }

  /** A live record. */
  take(record: KafkaMessage): void {
    this.#queue.push(record);
    this.#drain();
  }

  /** Resolves when everything that was taken before the call is folded. */
  settled(): Promise<void> {
    if (this.#level && this.#queue.length === 0 && this.#draining === null) return Promise.resolve();
    return new Promise((resolve) => {
      this.#queue.push(resolve);
      this.#drain();
    });
  }

  /** Resolves when nothing waits to be folded. */
  async drained(): Promise<void> {
    while (this.#draining !== null) await this.#draining;
  }

  /** What becomes of the entries, once they are read back. */
  readBack(drafts: readonly SignedDraft[]): Promise<AppendAnswer> {
    return new Promise((answer) => {
      const awaited: Awaited = { drafts, seen: new Set(), superseded: false, answer };
      for (const { entry } of drafts) this.#awaited.set(entry.hash, awaited);
    });
  }

  /** Whether somebody still waits for these. */
  awaits(drafts: readonly SignedDraft[]): boolean {
    return drafts.some(({ entry }) => this.#awaited.has(entry.hash));
  }

  forget(drafts: readonly SignedDraft[]): void {
    for (const { entry } of drafts) this.#awaited.delete(entry.hash);
  }

  /** Whether the first entry joins what is folded, and each other one continues the one before, all by keys that count here. */
  takes(drafts: readonly SignedDraft[]): boolean {
    return drafts.every(({ entry }, index) => {
      if (this.#keys.get(entry.envelope.keyid) === undefined) return false;
      const before = drafts[index - 1]?.entry;
      if (before === undefined) return joins(this.live, entry);
      return entry.ledger === before.ledger && entry.prev === before.hash && entry.seq === before.seq + 1;
    });
  }

  add(listener: LogListener): void {
    this.#followers.add(listener);
  }

  remove(listener: LogListener): boolean {
    return this.#followers.delete(listener);
  }

  /** Reads records for one listener that came late, along a fold of its own. */
  async tellAlone(listener: LogListener, own: LiveChains, records: readonly KafkaMessage[]): Promise<void> {
    for (const { position, read } of await this.#read(records)) {
      if (read.kind === 'foreign') tell(() => listener.foreign?.(position, read.reason));
      else {
        const joining = fold(own, read.entry);
        if (read.kind === 'entry') tell(() => listener.entry(read.entry, joining, own, position));
        else tell(() => listener.foreign?.(position, read.reason));
      }
    }
  }

  #drain(): void {
    if (this.#draining !== null || !this.#level || this.#queue.length === 0) return;
    this.#draining = this.#foldQueue().then(
      () => {
        this.#draining = null;
        this.#drain();
      },
      (error: unknown) => {
        this.#draining = null;
        this.world.failed(error);
      },
    );
  }

  async #foldQueue(): Promise<void> {
    while (this.#queue.length > 0) {
      const page: KafkaMessage[] = [];
      let taken = 0;
      for (const item of this.#queue) {
        if (typeof item === 'function' || page.length === PAGE) break;
        page.push(item);
        taken++;
      }
      this.#queue.splice(0, taken);
      if (page.length > 0) await this.#fold(page);
      for (let mark = this.#queue[0]; typeof mark === 'function'; mark = this.#queue[0]) {
        this.#queue.shift();
        mark();
      }
    }
  }

  async #fold(records: readonly KafkaMessage[]): Promise<void> {
    const { observer, pinned } = this.world;
    for (const [index, { position, read, hash, keyid }] of (await this.#read(records)).entries()) {
      if (this.next === 0) this.from = position;
      this.next = position + 1;
      if (read.kind === 'entry') {
        const joining = this.#take(position, read.entry);
        if (read.entry.type !== 'eval_started' || joining !== 'joined') continue;
        const keys = pinned(read.entry.body.trust_store);
        if (keys === null) continue;
        // What comes after it is judged by the keys that it pins.
        this.#keys = await keys;
        return this.#fold(records.slice(index + 1));
      }
      // What nobody's key signed here joins nothing, whoever waits for it.
      if (read.kind === 'bodiless') this.#seen(hash, fold(this.live, read.entry));
      else if (this.#isOwn(hash, keyid)) this.#seen(hash, 'superseded');
      if (read.kind === 'foreign') observer.foreign?.(this.evaluation, position, read.reason);
      for (const follower of this.#followers) tell(() => follower.foreign?.(position, read.reason));
    }
    this.#answer();
  }

  #take(position: number, entry: Entry): Joining {
    const joining = fold(this.live, entry);
    this.#verified.add(entry.hash);
    this.#seen(entry.hash, joining);
    this.world.observer.folded?.(entry, joining);
    for (const follower of this.#followers) tell(() => follower.entry(entry, joining, this.live, position));
    return joining;
  }

  /** Whether it is what somebody here waits for, and not a copy of it under the name of another key. */
  #isOwn(hash: EntryHash, keyid: KeyId): boolean {
    return (
      this.#awaited.get(hash)?.drafts.some(({ entry }) => entry.hash === hash && entry.envelope.keyid === keyid) ===
      true
    );
  }

  #seen(hash: EntryHash, joining: Joining): void {
    const awaited = this.#awaited.get(hash);
    if (awaited === undefined) return;
    awaited.seen.add(hash);
    if (joining === 'superseded') awaited.superseded = true;
  }

  /** Answers what was read back, when everything that was read with it is folded. */
  #answer(): void {
    for (const awaited of new Set(this.#awaited.values())) {
      const { drafts, seen, superseded, answer } = awaited;
      if (!superseded && seen.size < drafts.length) continue;
      this.forget(drafts);
      const last = (drafts[drafts.length - 1] as SignedDraft).entry;
      const stands = ENDS.has(last.type) || mayContinue(this.live, last.ledger, writerOf(last));
      answer(!superseded && stands ? 'confirmed' : 'lost');
    }
  }

  /** Signatures are checked side by side on the thread pool; the order stays that of the log. */
  async #read(records: readonly KafkaMessage[]): Promise<Read[]> {
    const { decoding, attachment } = this.world;
    const keys = this.#keys;
    const options = { keys, evaluation: this.evaluation, verified: this.#verified, attachment };
    return Promise.all(
      records.map(async ({ offset, value }) => {
        const record = await decoding.entry(value);
        const hash = entryHash(record);
        // This process made and checked it; the hash pins bytes and signature, and the key is beside them.
        const own = this.#awaited.get(hash)?.drafts.find(({ entry }) => entry.hash === hash)?.entry;
        const known = own !== undefined && own.envelope.keyid === record.keyid && keys.get(record.keyid) !== undefined;
        const read: ReadRecord = known ? { kind: 'entry', entry: own } : await readRecord(record, options);
        return { position: Number(offset), read, hash, keyid: record.keyid };
      }),
    );
  }
}
