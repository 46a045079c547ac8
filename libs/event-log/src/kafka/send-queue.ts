import { setImmediate } from 'node:timers';
import type { IHeaders, Kafka, Message, Producer, RecordMetadata } from 'kafkajs';
import { closed } from '../group-commit.js';
import { LogError } from '../port.js';
import { asLogError, isPassing, protocolCode, rootOf } from './errors.js';
import type { KafkaObserver } from './observer.js';
import { waitAgain } from './retry.js';

export interface Outgoing {
  /** The topic's full name. */
  readonly topic: string;
  readonly partition: number;
  readonly key: string | Buffer | null;
  readonly value: Buffer;
  readonly headers: IHeaders;
}

interface Job extends Outgoing {
  readonly bytes: number;
  readonly resolve: (offset: number) => void;
  readonly reject: (error: unknown) => void;
}

/** Of one partition in one send: the cluster stores and limits that as one batch. */
const PARTITION_BYTES = 900_000;
const PARTITION_RECORDS = 1_000;
/** Of one send. */
const SEND_BYTES = 8 * 1024 * 1024;
const RECORD_OVERHEAD = 200;
const CLOSE_MS = 5_000;

/** The producer lost count of what the cluster has: a new one may write copies, and loses nothing. */
const OUT_OF_STEP: ReadonlySet<string> = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_ID_MAPPING',
  'INVALID_PRODUCER_EPOCH',
  'DUPLICATE_SEQUENCE_NUMBER',
]);

/**
 * Sends records with one idempotent producer, one send at a time; all that is queued meanwhile goes in the next. kafkajs's own retries can pass over a
 * partition whose leader moved and still succeed, so a record counts as sent only when its partition is in the answer. A send that failed is made again
 * just as it was: another one with its sequence numbers would be taken for it, and dropped.
 */
export class SendQueue {
  #queue: Job[] = [];
  #sending: Promise<void> | null = null;
  #producer: Producer | null = null;
  #closing = false;
  #given_up = false;

  constructor(
    private readonly kafka: Kafka,
    private readonly observer: KafkaObserver,
  ) {}

  async open(): Promise<void> {
    try {
      await this.#connect();
    } catch (error) {
      throw asLogError(error, 'write');
    }
  }

  /** Resolves with the record's offset when all in-sync replicas have it. Records of one partition keep their order. @throws LogError */
  send(outgoing: Outgoing): Promise<number> {
    if (this.#closing) return Promise.reject(closed());
    const { key, value, headers } = outgoing;
    const headed = Object.entries(headers).reduce(
      (sum, [name, header]) => sum + name.length + String(header).length,
      0,
    );
    const bytes = value.length + (key?.length ?? 0) + headed + RECORD_OVERHEAD;
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...outgoing, bytes, resolve, reject });
      this.#sending ??= this.#drain();
    });
  }

  /** Sends what is queued, for a few seconds; then gives it up. */
  async close(): Promise<void> {
    this.#closing = true;
    const timer = setTimeout(() => {
      this.#given_up = true;
      this.#refuse(this.#queue.splice(0));
      this.#producer?.disconnect().catch(() => {});
    }, CLOSE_MS);
    await this.#sending;
    clearTimeout(timer);
    await this.#producer?.disconnect().catch(() => {});
  }

  async #drain(): Promise<void> {
    // What is queued in the same turn goes together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#queue.length > 0) await this.#deliver(this.#take());
    this.#sending = null;
  }

  #take(): Job[] {
    const sizes = new Map<string, { bytes: number; records: number; full: boolean }>();
    let total = 0;
    const taken: Job[] = [];
    const left: Job[] = [];
    for (const job of this.#queue) {
      const place = `${job.topic} ${job.partition}`;
      const size = sizes.get(place) ?? { bytes: 0, records: 0, full: false };
      sizes.set(place, size);
      const fits =
        size.records === 0 || (size.bytes + job.bytes <= PARTITION_BYTES && size.records < PARTITION_RECORDS);
      // Nothing of a partition overtakes what did not fit.
      size.full ||= !fits || (total > 0 && total + job.bytes > SEND_BYTES);
      if (size.full) {
        left.push(job);
        continue;
      }
      size.bytes += job.bytes;
      size.records += 1;
      total += job.bytes;
      taken.push(job);
    }
    this.#queue = left;
    return taken;
  }

  /** Never throws; every job is answered. */
  async #deliver(jobs: readonly Job[]): Promise<void> {
    let batch = jobs;
    for (let attempt = 0; batch.length > 0; attempt++) {
      if (this.#given_up) return this.#refuse(batch);
      try {
        const producer = this.#producer ?? (await this.#connect());
        batch = answered(
          batch,
          await producer.sendBatch({ acks: -1, timeout: ACK_MS, topicMessages: messagesOf(batch) }),
        );
        if (batch.length === 0) return;
      } catch (error) {
        if (this.#given_up) return this.#refuse(batch);
        this.observer.trouble?.('send', error);
        if (!isPassing(error)) {
          await this.#renew();
          if (isRefusal(error)) return this.#deliverApart(batch, error);
        }
      }
      await waitAgain(attempt);
    }
  }

  /** One of them is refused: the others are not to suffer for it. */
  async #deliverApart(batch: readonly Job[], error: unknown): Promise<void> {
    const [only] = batch;
    if (only !== undefined && batch.length === 1) return only.reject(asLogError(error, `write to ${only.topic}`));
    const middle = batch.length >> 1;
    await this.#deliver(batch.slice(0, middle));
    await this.#deliver(batch.slice(middle));
  }

  async #connect(): Promise<Producer> {
    const producer = this.kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      metadataMaxAge: 60_000,
      retry: { retries: 1, initialRetryTime: 20, maxRetryTime: 200 },
      createPartitioner:
        () =>
        ({ message: { partition } }) => {
          if (partition === undefined) throw new LogError('log_corrupt', 'a record was sent with no partition');
          return partition;
        },
    });
    await producer.connect();
    this.#producer = producer;
    return producer;
  }

  async #renew(): Promise<void> {
    const old = this.#producer;
    this.#producer = null;
    await old?.disconnect().catch(() => {});
  }

  #refuse(jobs: readonly Job[]): void {
    for (const job of jobs) job.reject(closed());
  }
}

const ACK_MS = 8_000;

/** What another attempt would not change. */
function isRefusal(error: unknown): boolean {
  if (error instanceof LogError) return true;
  const code = protocolCode(error);
  if (code !== '') return !OUT_OF_STEP.has(code);
  return rootOf(error).name === 'KafkaJSSASLAuthenticationError';
}

function messagesOf(batch: readonly Job[]): { topic: string; messages: Message[] }[] {
  const byTopic = new Map<string, Message[]>();
  for (const { topic, partition, key, value, headers } of batch) {
    const messages = byTopic.get(topic) ?? [];
    byTopic.set(topic, messages);
    messages.push({ key, value, partition, headers });
  }
  return [...byTopic].map(([topic, messages]) => ({ topic, messages }));
}

/** Answers the jobs whose partition is in the answers; returns the others. */
function answered(batch: readonly Job[], answers: readonly RecordMetadata[]): Job[] {
  const next = new Map<string, number>();
  for (const { topicName, partition, baseOffset } of answers) {
    if (baseOffset !== undefined) next.set(`${topicName} ${partition}`, Number(baseOffset));
  }
  return batch.filter((job) => {
    const place = `${job.topic} ${job.partition}`;
    const offset = next.get(place);
    if (offset === undefined) return true;
    next.set(place, offset + 1);
    job.resolve(offset);
    return false;
  });
}
