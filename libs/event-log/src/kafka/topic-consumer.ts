import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer as KafkaConsumer, EachBatchPayload, Kafka, KafkaMessage } from 'kafkajs';
import { SchemaError, type WireTopic } from '#lib/schemas';
import type { JsonValue } from '#lib/ledger';
import { tell } from '../listening.js';
import type { Consumer, TopicHandler, TopicRecord } from '../port.js';
import { Commits } from './commits.js';
import type { DeadLetters } from './dead-letters.js';
import type { Decoding } from './decoding.js';
import { Delivery } from './delivery.js';
import type { DirectReader } from './direct.js';
import { asLogError } from './errors.js';
import type { KafkaObserver } from './observer.js';
import type { Life } from './retry.js';
import { rawOf, recordOf } from './topic-record.js';

export interface ConsumerParts {
  readonly kafka: Kafka;
  readonly reader: DirectReader;
  readonly decoding: Decoding;
  readonly letters: DeadLetters;
  readonly life: Life;
  readonly observer: KafkaObserver;
  readonly fatal: (error: unknown) => void;
  /** How long a member may be silent before its partitions are given to others. */
  readonly sessionMs: number;
  /** Committed offsets of the group, by partition; absent where there is none. */
  readonly committed: (group: string, topic: string) => Promise<ReadonlyMap<number, number>>;
}

export interface Consumed {
  readonly topic: WireTopic;
  /** Full names. */
  readonly topicName: string;
  readonly group: string;
}

const MAX_HEARTBEAT_MS = 1_000;
const REBALANCE_MS = 15_000;
/** A consumer that stops waits for its fetch. */
const WAIT_MS = 700;
const BEAT_MS = 500;
/** What is finished is committed when it stops; after so long the next member does it again. */
const LAST_COMMIT_MS = 3_000;
/** Records that are there, and not delivered for so long, are held up by something. */
const STALLED_MS = 8_000;

/**
 * One member of a consumer group. kafkajs restarts every partition at its committed offset after each rebalance; this keeps the place of those that
 * stay, and takes a batch only where it goes on from what was delivered before it.
 */
export class TopicConsumer implements Consumer {
  readonly #consumer: KafkaConsumer;
  readonly #commits: Commits;
  /** Partitions that are this member's; `null` until it is known where to begin. */
  #assigned = new Map<number, Delivery | null>();
  #member = '';
  #joined: (() => void) | null = null;
  #refused: ((error: unknown) => void) | null = null;
  #stopping: Promise<void> | null = null;
  #down = false;

  constructor(
    private readonly parts: ConsumerParts,
    readonly consumed: Consumed,
    private readonly handler: TopicHandler,
  ) {
    this.#consumer = parts.kafka.consumer({
      groupId: consumed.group,
      sessionTimeout: parts.sessionMs,
      heartbeatInterval: Math.min(MAX_HEARTBEAT_MS, Math.floor(parts.sessionMs / 4)),
      rebalanceTimeout: REBALANCE_MS,
      maxWaitTimeInMs: WAIT_MS,
      allowAutoTopicCreation: false,
      // Nobody's open transaction may hold up what others ask for.
      readUncommitted: true,
      metadataMaxAge: 60_000,
      retry: { initialRetryTime: 50, maxRetryTime: 1_000, retries: 8, restartOnFailure: async () => !this.#stopped },
    });
    this.#commits = new Commits({
      ...consumed,
      consumer: this.#consumer,
      life: parts.life,
      observer: parts.observer,
      assigned: () => this.#assigned,
      stopping: () => this.#stopping !== null,
    });
  }

  get #stopped(): boolean {
    return this.#stopping !== null || this.parts.life.over;
  }

  /** Records that were there at the last look and are not delivered. */
  get lag(): number {
    return [...this.#assigned.values()].reduce((sum, delivery) => sum + (delivery?.lag ?? 0), 0);
  }

  /** Whether it has its partitions, knows where each begins, and delivers what stands there. */
  get ready(): boolean {
    const now = performance.now();
    const flows = (delivery: Delivery | null) => delivery !== null && delivery.stalledFor(now) < STALLED_MS;
    return !this.#down && this.#member !== '' && [...this.#assigned.values()].every(flows);
  }

  /** Told of where the topic's partitions end, in their order. */
  saw(ends: readonly number[], now: number): void {
    for (const [partition, delivery] of this.#assigned) delivery?.saw(ends[partition] ?? 0, now);
  }

  /** Resolves when it is a member of the group, and delivers. */
  async start(): Promise<void> {
    const { GROUP_JOIN, CRASH, END_BATCH_PROCESS } = this.#consumer.events;
    this.#consumer.on(GROUP_JOIN, ({ payload: { memberId, memberAssignment } }) => {
      this.#onJoin(memberId, memberAssignment[this.consumed.topicName] ?? []);
    });
    this.#consumer.on(CRASH, ({ payload: { error, restart } }) => {
      // It left the group, so others may have had its partitions.
      this.#lose([...this.#assigned.keys()]);
      this.#member = '';
      this.#down = true;
      this.parts.observer.trouble?.('consume', error);
      if (restart || this.#stopped) return;
      if (this.#refused !== null) this.#refused(error);
      else this.parts.fatal(asLogError(error, `consume ${this.consumed.topicName}`));
    });
    this.#consumer.on(END_BATCH_PROCESS, ({ payload: { partition, batchSize, firstOffset, lastOffset } }) => {
      if (batchSize === 0) this.#marks(partition, firstOffset, lastOffset);
    });
    const joined = new Promise<void>((resolve, reject) => {
      this.#joined = resolve;
      this.#refused = reject;
    });
    joined.catch(() => {});
    try {
      await this.parts.reader.again('consume', () => this.#consumer.connect());
      await this.#consumer.subscribe({ topic: this.consumed.topicName, fromBeginning: true });
      await this.#consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: (payload) => this.#batch(payload),
      });
      await this.parts.life.bound(joined);
    } catch (error) {
      await this.stop();
      throw asLogError(error, `consume ${this.consumed.topicName}`);
    }
  }

  async commit(position: number, partition = 0): Promise<void> {
    const delivery = this.#assigned.get(partition);
    // What is another's is for the other to finish.
    if (delivery === undefined || delivery === null) return;
    delivery.finish(position);
    await this.#commits.flush();
  }

  resume(partition: number): void {
    const delivery = this.#assigned.get(partition);
    if (this.#stopped || delivery === undefined || delivery === null || !delivery.full) return;
    delivery.full = false;
    this.#consumer.resume([{ topic: this.consumed.topicName, partitions: [partition] }]);
  }

  /** Whether there is no room for more: then nothing of the partition is fetched until there is. */
  #isFull(partition: number, delivery: Delivery): boolean {
    delivery.full = this.handler.full?.(partition) ?? false;
    if (delivery.full) this.#consumer.pause([{ topic: this.consumed.topicName, partitions: [partition] }]);
    return delivery.full;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#leave();
    return this.#stopping;
  }

  async #leave(): Promise<void> {
    await Promise.race([this.#commits.flush().catch(() => {}), sleep(LAST_COMMIT_MS)]);
    this.#assigned = new Map();
    await this.#consumer.disconnect().catch(() => {});
  }

  #onJoin(member: string, partitions: readonly number[]): void {
    this.#down = false;
    // Under another name it was out of the group for a time, in which others had what it had.
    const stayed = member === this.#member;
    this.#member = member;
    const now = new Set(partitions);
    this.#lose([...this.#assigned.keys()].filter((partition) => !stayed || !now.has(partition)));
    const fresh = partitions.filter((partition) => !this.#assigned.has(partition));
    for (const [partition, delivery] of this.#assigned) if (delivery !== null) this.#seek(partition, delivery.next);
    const pending = [...this.#assigned].filter(([, delivery]) => delivery === null).map(([partition]) => partition);
    for (const partition of fresh) this.#assigned.set(partition, null);
    if (fresh.length + pending.length === 0) {
      this.#began();
    } else {
      this.#consumer.pause([{ topic: this.consumed.topicName, partitions: [...fresh, ...pending] }]);
      void this.#locate([...fresh, ...pending], member);
    }
    if (this.#commits.pending) void this.#commits.flush().catch(() => {});
  }

  #began(): void {
    this.#joined?.();
    this.#joined = null;
    this.#refused = null;
  }

  /** Finds out where partitions that are new to this member begin, and lets them flow. */
  async #locate(partitions: readonly number[], member: string): Promise<void> {
    const { reader, committed, fatal } = this.parts;
    const { group, topicName } = this.consumed;
    try {
      const offsets = await reader.again('consume', () => committed(group, topicName));
      const [lows, highs] = [await reader.ends(topicName, true), await reader.ends(topicName)];
      if (this.#stopped || this.#member !== member) return;
      for (const partition of partitions) {
        if (this.#assigned.get(partition) !== null) continue;
        const [low, high, offset] = [lows[partition] ?? 0, highs[partition] ?? 0, offsets.get(partition) ?? -1];
        // A committed offset outside of the log is one of records that are no longer kept.
        const start = offset < low || offset > high ? low : offset;
        this.#assigned.set(partition, new Delivery(start));
        this.#seek(partition, start);
      }
      this.#consumer.resume([{ topic: topicName, partitions: [...partitions] }]);
      this.#began();
    } catch (error) {
      if (!this.#stopped) fatal(error);
    }
  }

  #seek(partition: number, offset: number): void {
    this.#consumer.seek({ topic: this.consumed.topicName, partition, offset: String(offset) });
  }

  #lose(partitions: readonly number[]): void {
    for (const partition of partitions) {
      this.#assigned.delete(partition);
    }
    if (partitions.length > 0) tell(() => this.handler.lost?.(partitions));
  }

  /** Throws nothing: kafkajs stops for ever at some errors, and begins again endlessly at others. */
  async #batch({ batch, resolveOffset, heartbeat, isRunning, isStale }: EachBatchPayload): Promise<void> {
    const { partition } = batch;
    const delivery = this.#assigned.get(partition);
    if (delivery === undefined || delivery === null) return;
    const goesOn = (): boolean =>
      !this.#stopped && isRunning() && !isStale() && this.#assigned.get(partition) === delivery;
    if (!goesOn()) return;
    if (fetchedAt(batch) !== delivery.next) return this.#relocate(partition, delivery);
    const left = (): void => delivery.saw(Number(batch.highWatermark), performance.now());
    try {
      for (const message of batch.messages) {
        if (!goesOn()) return;
        // What is left of the batch is fetched again.
        if (this.#isFull(partition, delivery)) break;
        if (!(await this.#deliver(partition, delivery, message, heartbeat, goesOn))) return;
        resolveOffset(message.offset);
      }
      // Past what the cluster keeps behind the last record: marks, and what was compacted.
      const end = Number(batch.lastOffset()) + 1;
      if (goesOn() && !delivery.full && end > delivery.next) delivery.passed(end - 1);
      left();
      if (delivery.finished > delivery.committed) void this.#commits.flush().catch(() => {});
    } catch (error) {
      if (!this.#stopped) this.parts.fatal(error);
    }
  }

  /** What was fetched are the cluster's own marks, such as the end of a transaction. */
  #marks(partition: number, first: string | null, last: string): void {
    const delivery = this.#assigned.get(partition);
    if (delivery === undefined || delivery === null || first !== String(delivery.next)) return;
    delivery.passed(Number(last));
    if (delivery.finished > delivery.committed) void this.#commits.flush().catch(() => {});
  }

  /** The cluster has no such offset any more, or kafkajs went elsewhere. */
  async #relocate(partition: number, delivery: Delivery): Promise<void> {
    try {
      const { topicName } = this.consumed;
      const low = (await this.parts.reader.ends(topicName, true))[partition] ?? 0;
      if (this.#assigned.get(partition) !== delivery) return;
      if (low > delivery.next) delivery.passed(low - 1);
      this.#seek(partition, delivery.next);
    } catch (error) {
      if (!this.#stopped) this.parts.fatal(error);
    }
  }

  /** False where the partition was lost on the way. */
  async #deliver(
    partition: number,
    delivery: Delivery,
    message: KafkaMessage,
    heartbeat: () => Promise<void>,
    goesOn: () => boolean,
  ): Promise<boolean> {
    const { decoding, letters } = this.parts;
    const { topic } = this.consumed;
    const offset = Number(message.offset);
    const raw = rawOf(topic, partition, message);
    let record: TopicRecord | null = null;
    try {
      const decoded = decoding.value(topic, message.value);
      const value = decoded instanceof Promise ? await beating(decoded, heartbeat) : decoded;
      // What is no JSON is on topics that nobody is given.
      record = recordOf(raw, value as JsonValue);
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      if (!goesOn()) return false;
      await beating(letters.put(raw, error.code, error.message), heartbeat);
    }
    if (!goesOn()) return false;
    if (record === null) delivery.passed(offset);
    else {
      delivery.delivered(offset);
      const delivered = record;
      tell(() => this.handler.record(delivered));
    }
    return true;
  }
}

/** Waits for something, and keeps the membership alive meanwhile. */
async function beating<T>(work: Promise<T>, heartbeat: () => Promise<void>): Promise<T> {
  // What the group has to say is heard after the batch.
  const timer = setInterval(() => void heartbeat().catch(() => {}), BEAT_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** The offset that the batch was asked for. kafkajs has it on its batches, and not in its types. */
function fetchedAt(batch: EachBatchPayload['batch']): number {
  if (!('fetchedOffset' in batch)) throw new Error('this version of kafkajs does not say where a batch begins');
  return Number(batch.fetchedOffset);
}
