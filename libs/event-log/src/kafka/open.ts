import { randomUUID } from 'node:crypto';
import type { KeyRing } from '#lib/ledger';
import { type TopicCodec, WIRE_TOPICS } from '#lib/schemas';
import { LogError } from '../port.js';
import type { OpenLog } from '../store-log.js';
import type { ScannedRecord } from '../port.js';
import { Attachments } from './attachments.js';
import { createClient, type KafkaConnection } from './client.js';
import { DeadLetters } from './dead-letters.js';
import { Decoding } from './decoding.js';
import { DirectReader } from './direct.js';
import { Ends } from './ends.js';
import { asLogError } from './errors.js';
import { IndexReader } from './index-reader.js';
import { LedgerLog } from './ledger-log.js';
import type { DeploymentMark } from './mark.js';
import { topicName } from './names.js';
import type { KafkaObserver } from './observer.js';
import { PinnedKeys } from './pinned-keys.js';
import { Life } from './retry.js';
import { SendQueue } from './send-queue.js';
import { Sender } from './sender.js';
import { StandingReader } from './standing-reader.js';
import { KafkaTopics } from './topics.js';

export interface KafkaLogOptions {
  readonly connection: KafkaConnection;
  /** Of all topics and groups of the deployment. */
  readonly prefix: string;
  readonly codec: TopicCodec;
  readonly keys: KeyRing;
  /**
   * SHA-256 of the trust store that holds these keys. An evaluation that pins another is folded by the keys which are in both, and left alone where that
   * one cannot be had. Absent: every evaluation is folded by all keys.
   */
  readonly trustStore?: string;
  /** Told of what this process cannot go on from; it should end. */
  readonly fatal: (error: unknown) => void;
  readonly observe?: KafkaObserver;
  /** When it connects to write: whoever only reads may lack the right to. */
  readonly writes?: 'from the start' | 'when needed';
  /** How long a member of a group may be silent before its partitions are given to others; absent: 10 s. */
  readonly sessionMs?: number;
}

export interface KafkaLag {
  /** Records of the ledger that are not read yet. */
  readonly ledger: number;
  /** Records that are not delivered yet, by topic and group. */
  readonly consumers: readonly { readonly topic: string; readonly group: string; readonly lag: number }[];
}

export interface KafkaLog extends OpenLog {
  /**
   * Joins the group that looks through the topics which only this adapter reads, and puts what cannot be decoded on `eval.dead-letter`. One process of a
   * deployment is enough, several share the work; resolves when it has its share.
   */
  guard(): Promise<void>;
  /** True while the cluster answers, the ledger is read, and every consumer has its partitions and is given what stands in them. */
  ready(): boolean;
  lag(): KafkaLag;
  /** All records of the ledger that are there now, a page at a time; those of one evaluation in log order. */
  scan(): AsyncIterable<readonly ScannedRecord[]>;
}

/** How far behind the end of the ledger a process may be and still be called ready. */
const READY_LAG = 1_000;
const SESSION_MS = 10_000;

/**
 * Opens the log on the topics of a deployment.
 * @throws LogError `log_missing` where topics are missing, `log_unreadable` (also where the number of partitions was changed), `log_read_only`
 */
export async function openKafkaLog(options: KafkaLogOptions): Promise<KafkaLog> {
  const { connection, prefix, codec, keys, fatal, observe: observer = {}, sessionMs = SESSION_MS } = options;
  const life = new Life();
  const kafka = createClient(connection, observer);
  // Fetches of one connection wait for one another: those that wait for news have one of their own.
  const [news, reader] = [new DirectReader(kafka, life, observer), new DirectReader(kafka, life, observer)];
  const queue = new SendQueue(kafka, observer);
  const admin = kafka.admin();
  const ledgerTopic = topicName(prefix, 'eval.ledger');
  const close = async (): Promise<void> => {
    if (life.over) return;
    await Promise.all([...topics.consumers, ...topics.guards].map((consumer) => consumer.stop()));
    await queue.close();
    life.end();
    await Promise.allSettled([news.close(), reader.close(), admin.disconnect(), standing.stopped()]);
  };
  const ends = new Ends(reader);
  const decoding = new Decoding(codec, life, observer);
  const source = `/truss/${connection.clientId}/${randomUUID()}`;
  const sender = new Sender({ prefix, source, queue, decoding, reader });
  const letters = new DeadLetters(sender, observer);
  const common = { reader, ends, decoding, sender, life, observer, fatal };
  const attachments = new Attachments(topicName(prefix, 'eval.attachment'), common);
  const index = new IndexReader(topicName(prefix, 'eval.index'), common);
  const ledger = new LedgerLog({
    ...common,
    topic: ledgerTopic,
    keys,
    attachments,
    pinned: new PinnedKeys({
      keys,
      own: options.trustStore,
      attachment: (sha256) => attachments.get(sha256),
      missing: (reason) => observer.said?.(reason, {}),
    }),
    index,
  });
  const standing = new StandingReader(news, ledgerTopic, {
    life,
    observer,
    fatal,
    take: (partition, records) => ledger.take(partition, records),
  });
  ledger.standOn(standing);
  const committed = async (groupId: string, topic: string): Promise<ReadonlyMap<number, number>> => {
    const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
    return new Map(found?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
  };
  const topics = new KafkaTopics({ ...common, kafka, prefix, letters, committed, sessionMs });

  try {
    await admin.connect();
    assertThere(await admin.listTopics(), prefix);
    await Promise.all([
      news.open([ledgerTopic]),
      reader.open(WIRE_TOPICS.map((topic) => topicName(prefix, topic))),
      ...(options.writes === 'when needed' ? [] : [queue.open()]),
    ]);
    assertPartitions(reader.partitions(ledgerTopic), await index.mark().catch(unreadable));
    await standing.start();
  } catch (error) {
    await close();
    throw asLogError(error, 'be read');
  }
  return {
    log: ledger,
    topics,
    close,
    guard: () => topics.guard(),
    scan: () => ledger.scan(),
    ready: () => !life.over && standing.well && standing.lag() < READY_LAG && topics.ready,
    lag: () => ({
      ledger: standing.lag(),
      consumers: [...topics.consumers].map(({ consumed: { topic, group }, lag }) => ({ topic, group, lag })),
    }),
  };
}

/** Whoever may not read the index, as a requester, reads no ledger either. */
function unreadable(error: unknown): null {
  if (error instanceof LogError && error.code === 'log_read_only') return null;
  throw error;
}

function assertPartitions(has: number, mark: DeploymentMark | null): void {
  if (mark === null || mark.partitions === has) return;
  throw new LogError(
    'log_unreadable',
    `the ledger has ${has} partitions and the deployment was made with ${mark.partitions}, so evaluations would not be found: the number cannot be changed`,
  );
}

function assertThere(topics: readonly string[], prefix: string): void {
  const there = new Set(topics);
  const missing = WIRE_TOPICS.map((topic) => topicName(prefix, topic)).filter((topic) => !there.has(topic));
  if (missing.length === 0) return;
  throw new LogError('log_missing', `the cluster has no ${missing.join(', ')}: run truss deploy topics`);
}
