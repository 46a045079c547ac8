import type { KafkaMessage } from 'kafkajs';
import { emptyChains, type EvalRunId, type SignedDraft } from '#lib/ledger';
import { closed } from '../group-commit.js';
import {
  type AppendAnswer,
  type EventLog,
  type Following,
  LogError,
  type LogListener,
  type LogRecord,
  type ScannedRecord,
} from '../port.js';
import { assertSigned } from '../store-log.js';
import type { Attachments } from './attachments.js';
import { FoldTail } from './fold-tail.js';
import { LedgerReader, type ReaderParts } from './ledger-reader.js';
import type { KafkaObserver } from './observer.js';
import type { PinnedKeys } from './pinned-keys.js';
import type { Life } from './retry.js';
import { Scans } from './scans.js';
import type { Sender } from './sender.js';
import type { StandingReader } from './standing-reader.js';

export interface LedgerParts extends ReaderParts {
  readonly life: Life;
  readonly sender: Sender;
  readonly attachments: Attachments;
  readonly pinned: PinnedKeys;
  readonly observer: KafkaObserver;
  readonly fatal: (error: unknown) => void;
}

interface Held {
  readonly tail: FoldTail;
  /** Resolves when the history as of the call that began it is folded. */
  readonly attached: Promise<void>;
  /** Appends go out in the order of their calls. */
  order: Promise<unknown>;
  /** The appends of a ledger, one after another: the next is judged when the one before was read back. */
  readonly turns: Map<string, Promise<unknown>>;
}

/** Folds that nobody uses are kept for whoever comes back, but no more than these. */
const IDLE_TAILS = 256;
/** Records that wait to be folded, over all evaluations, before the reader waits too. */
const MOST_QUEUED = 10_000;

/** The ledger of all evaluations on a topic: appends that are confirmed by what was read back, and followers. */
export class LedgerLog implements EventLog {
  readonly #held = new Map<EvalRunId, Held>();
  /** The tails that take live records. */
  readonly #live = new Map<string, FoldTail>();
  readonly #scans: Scans;
  readonly #ledger: LedgerReader;
  #standing: StandingReader | null = null;

  constructor(private readonly parts: LedgerParts) {
    this.#scans = new Scans(parts.reader, parts.topic);
    this.#ledger = new LedgerReader(parts);
  }

  /** Gives it the reader that calls `take`. */
  standOn(standing: StandingReader): void {
    this.#standing = standing;
  }

  take(_partition: number, records: readonly KafkaMessage[]): Promise<void> | undefined {
    for (const record of records) {
      if (record.key !== null) this.#live.get(record.key.toString())?.take(record);
    }
    let queued = 0;
    for (const tail of this.#live.values()) queued += tail.queued;
    if (queued < MOST_QUEUED) return undefined;
    return Promise.all([...this.#live.values()].map((tail) => tail.drained())).then(() => undefined);
  }

  async append(drafts: readonly SignedDraft[]): Promise<AppendAnswer> {
    const { life, keys, observer } = this.parts;
    life.assert();
    const [first] = drafts;
    if (first === undefined) return 'confirmed';
    const { eval: evaluation, ledger } = first.entry;
    const held = this.#use(evaluation);
    try {
      const checked = Promise.all(drafts.map((draft) => assertSigned(draft, keys)));
      const before = held.order;
      const turn = held.turns.get(ledger);
      const sent = checked
        .then(() => Promise.all([held.attached, before, turn]))
        .then(() => this.#send(held.tail, drafts));
      // What comes later waits until this one is on its way, or is answered without being sent.
      held.order = sent.then(
        (sending) => sending.queued,
        () => {},
      );
      const answer = sent.then((sending) => sending.answer);
      const over = answer.catch(() => {});
      held.turns.set(ledger, over);
      const answered = await life.bound(answer);
      if (held.turns.get(ledger) === over) held.turns.delete(ledger);
      if (answered === 'lost') observer.lost?.(evaluation);
      return answered;
    } finally {
      this.#release(held);
    }
  }

  /** `queued`: resolves when what comes after it cannot overtake it any more. */
  async #send(
    tail: FoldTail,
    drafts: readonly SignedDraft[],
  ): Promise<{ readonly queued: Promise<unknown>; readonly answer: Promise<AppendAnswer> }> {
    if (!tail.takes(drafts)) {
      // What it follows may have been written by somebody else a moment ago.
      await this.#readToEnd(tail);
      if (!tail.takes(drafts)) return { queued: Promise.resolve(), answer: Promise.resolve('lost') };
    }
    const attached = drafts.flatMap(({ attachment }) => attachment ?? []);
    if (attached.length === 0) return { queued: Promise.resolve(), answer: this.#confirm(tail, drafts) };
    const stored = Promise.all(attached.map(({ bytes }) => this.parts.attachments.put(bytes)));
    return { queued: stored.catch(() => {}), answer: stored.then(() => this.#confirm(tail, drafts)) };
  }

  async #confirm(tail: FoldTail, drafts: readonly SignedDraft[]): Promise<AppendAnswer> {
    const { sender } = this.parts;
    const readBack = tail.readBack(drafts);
    try {
      const acknowledged = Promise.all(
        drafts.map(({ entry }) =>
          sender.send('eval.ledger', entry.eval, entry.envelope, { id: entry.hash, subject: entry.ledger }),
        ),
      );
      // Whatever the cluster says, only what is read back counts.
      const missing = acknowledged.then(async (offsets) => {
        await this.#read(tail.partition, Math.max(...offsets) + 1);
        await tail.settled();
        if (tail.awaits(drafts)) throw notThere(drafts);
        return readBack;
      });
      return await Promise.race([readBack, missing]);
    } finally {
      tail.forget(drafts);
    }
  }

  async follow(evaluation: EvalRunId, listener: LogListener): Promise<Following> {
    this.parts.life.assert();
    const held = this.#use(evaluation);
    const { tail } = held;
    // An object of its own, so that one listener may follow twice.
    const follower: LogListener = {
      entry: (entry, joining, live, position) => listener.entry(entry, joining, live, position),
      foreign: (position, reason) => listener.foreign?.(position, reason),
    };
    try {
      await this.#begin(held, follower);
    } catch (error) {
      tail.remove(follower);
      this.#release(held);
      throw error;
    }
    return {
      live: tail.live,
      caughtUp: async () => {
        this.parts.life.assert();
        await this.#readToEnd(tail);
      },
      stop: () => {
        if (tail.remove(follower)) this.#release(held);
      },
    };
  }

  async #begin(held: Held, follower: LogListener): Promise<void> {
    const { tail } = held;
    if (tail.next === 0) {
      tail.add(follower);
      await held.attached;
      return this.#readToEnd(tail);
    }
    await held.attached;
    await this.#readToEnd(tail);
    // The shared fold is ahead of what this follower has heard, so it hears along a fold of its own.
    const own = emptyChains(tail.evaluation);
    for (let heard = tail.from; heard < tail.next; ) {
      const end = tail.next;
      await this.#scans.read(tail.partition, tail.evaluation, heard, end, (records) =>
        tail.tellAlone(follower, own, records),
      );
      heard = end;
    }
    tail.add(follower);
  }

  async *records(evaluation: EvalRunId): AsyncGenerator<LogRecord> {
    this.parts.life.assert();
    yield* this.#ledger.records(evaluation);
  }

  /** All records of the ledger that are there now, in log order within an evaluation: a page at a time. */
  async *scan(): AsyncGenerator<readonly ScannedRecord[]> {
    this.parts.life.assert();
    yield* this.#ledger.scan();
  }

  async *evaluations(): AsyncGenerator<EvalRunId> {
    this.parts.life.assert();
    yield* this.#ledger.evaluations();
  }

  async endFor(evaluation: EvalRunId): Promise<number> {
    this.parts.life.assert();
    return this.parts.ends.of(this.parts.topic, this.#ledger.partition(evaluation));
  }

  async beginningOf(evaluation: EvalRunId): Promise<number | null> {
    this.parts.life.assert();
    return this.parts.index.beginningOf(evaluation);
  }

  isPlaceOf(evaluation: EvalRunId, partition: number): boolean {
    return this.#ledger.partition(evaluation) === partition;
  }

  async putAttachment(bytes: Uint8Array) {
    this.parts.life.assert();
    return this.parts.attachments.put(bytes);
  }

  async attachment(sha256: string): Promise<Uint8Array | null> {
    this.parts.life.assert();
    return this.parts.attachments.get(sha256);
  }

  #use(evaluation: EvalRunId): Held {
    let held = this.#held.get(evaluation);
    if (held === undefined) {
      const { keys, decoding, observer, attachments, pinned, life, fatal } = this.parts;
      const tail = new FoldTail(evaluation, this.#ledger.partition(evaluation), {
        keys,
        decoding,
        observer,
        attachment: (sha256) => attachments.get(sha256),
        pinned: (trustStore) => pinned.of(trustStore),
        failed: (error) => {
          if (!life.over) fatal(error);
        },
      });
      const attached = this.#attach(tail);
      held = { tail, attached, order: Promise.resolve(), turns: new Map() };
      const made = held;
      attached.catch(() => this.#drop(made));
    }
    // Most recently used last.
    this.#held.delete(evaluation);
    this.#held.set(evaluation, held);
    held.tail.users += 1;
    return held;
  }

  #release(held: Held): void {
    held.tail.users -= 1;
    if (held.tail.users > 0) return;
    if (held.tail.live.closed !== null) return this.#drop(held);
    const idle = [...this.#held.values()].filter(({ tail }) => tail.users === 0);
    for (const oldest of idle.slice(0, Math.max(0, idle.length - IDLE_TAILS))) this.#drop(oldest);
  }

  #drop(held: Held): void {
    const { evaluation } = held.tail;
    if (this.#held.get(evaluation) !== held) return;
    this.#held.delete(evaluation);
    this.#live.delete(evaluation);
  }

  /** Folds the history of an evaluation; what comes live meanwhile waits. */
  async #attach(tail: FoldTail): Promise<void> {
    const { ends, topic, index } = this.parts;
    tail.from = (await index.beginningOf(tail.evaluation)) ?? 0;
    const end = await ends.of(topic, tail.partition);
    await this.#read(tail.partition, end);
    // In one turn: from here on it is told of what comes.
    const until = this.#reader.next(tail.partition);
    this.#live.set(tail.evaluation, tail);
    // The ledger ends before what the index says: it is that of another ledger.
    if (tail.from > end) tail.from = 0;
    if (!(await this.#foldFrom(tail, until))) {
      tail.from = 0;
      await this.#foldFrom(tail, until);
    }
    tail.level();
  }

  /** False, with nothing folded, where the first record from there on is not the one that the evaluation begins with. */
  async #foldFrom(tail: FoldTail, until: number): Promise<boolean> {
    let [believed, begun] = [tail.from === 0, true];
    await this.#scans.read(tail.partition, tail.evaluation, tail.from, until, async (records) => {
      if (!begun) return;
      if (!believed)
        begun = await this.#ledger.isGenesis(
          tail.evaluation,
          await this.parts.decoding.entry(records[0]?.value ?? null),
        );
      believed = true;
      if (begun) await tail.history(records);
    });
    return begun;
  }

  async #readToEnd(tail: FoldTail): Promise<void> {
    await this.#read(tail.partition, await this.parts.ends.of(this.parts.topic, tail.partition));
    await this.parts.life.bound(tail.settled());
  }

  #read(partition: number, position: number): Promise<void> {
    return this.#reader.reached(partition, position);
  }

  get #reader(): StandingReader {
    if (this.#standing === null) throw closed();
    return this.#standing;
  }
}

function notThere(drafts: readonly SignedDraft[]): LogError {
  const { ledger, seq } = (drafts[0] as SignedDraft).entry;
  return new LogError(
    'log_corrupt',
    `entry ${ledger}#${seq} was acknowledged and is not in the log: check the cluster's replicas`,
  );
}
