import { randomUUID } from 'node:crypto';
import { type IHeaders, Kafka, logLevel, type Producer } from 'kafkajs';
import { inject } from 'vitest';
import type { EvalRunId, KeyRing, SignedEntry } from '#lib/ledger';
import type { TopicCodec, WireTopic } from '#lib/schemas';
import { createPlainCodec } from '../../../schemas/src/plain-codec.testkit.js';
import { keys } from '../fixtures.testkit.js';
import { deployTopics } from './deploy-topics.js';
import { partitionOf, topicName } from './names.js';
import type { KafkaObserver } from './observer.js';
import { type KafkaLog, openKafkaLog } from './open.js';

export interface Deployment {
  readonly prefix: string;
  readonly partitions: number;
  readonly kafka: Kafka;
  open(options?: {
    readonly codec?: TopicCodec;
    readonly keys?: KeyRing;
    readonly trustStore?: string;
    readonly brokers?: string[];
    readonly fatal?: (error: unknown) => void;
    readonly observe?: KafkaObserver;
  }): Promise<KafkaLog>;
  /** Writes any bytes, as whoever reaches the cluster could. */
  raw(topic: WireTopic, key: string | null, value: Buffer | null, headers?: IHeaders): Promise<void>;
  putRaw(evaluation: EvalRunId, record: SignedEntry): Promise<void>;
  close(): Promise<void>;
}

/** Topics of a test's own. */
export async function deploy(partitions = 1, brokers = inject('stack').brokers, replication = 1): Promise<Deployment> {
  const prefix = `t-${randomUUID().slice(0, 8)}.`;
  const connection = { brokers, clientId: 'tests' };
  await deployTopics({ connection, prefix, partitions, replication, minInsyncReplicas: Math.min(2, replication) });
  const kafka = new Kafka({ brokers, clientId: 'raw', logLevel: logLevel.NOTHING });
  let producer: Producer | null = null;
  const logs: KafkaLog[] = [];
  const raw = async (topic: WireTopic, key: string | null, value: Buffer | null, headers: IHeaders = {}) => {
    if (producer === null) {
      producer = kafka.producer({
        createPartitioner:
          () =>
          ({ message }) =>
            message.partition ?? 0,
      });
      await producer.connect();
    }
    const partition = partitionOf(key ?? '', partitions);
    await producer.send({ topic: topicName(prefix, topic), messages: [{ key, value, partition, headers }] });
  };
  const codec = createPlainCodec();
  return {
    prefix,
    partitions,
    kafka,
    open: async (options = {}) => {
      const log = await openKafkaLog({
        connection: { ...connection, ...(options.brokers === undefined ? {} : { brokers: options.brokers }) },
        prefix,
        codec: options.codec ?? codec,
        keys: options.keys ?? keys,
        fatal: options.fatal ?? unexpected,
        ...(options.trustStore === undefined ? {} : { trustStore: options.trustStore }),
        ...(options.observe === undefined ? {} : { observe: options.observe }),
      });
      logs.push(log);
      return log;
    },
    raw,
    putRaw: async (evaluation, record) => {
      await raw('eval.ledger', evaluation, Buffer.from(await codec.encode('eval.ledger', record)));
    },
    close: async () => {
      await Promise.all(logs.map((log) => log.close()));
      await producer?.disconnect();
    },
  };
}

function unexpected(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
