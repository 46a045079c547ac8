import type { Redis } from 'ioredis';
import { type KafkaLog, type KafkaObserver, openKafkaLog } from '#lib/event-log/kafka';
import { openRedis } from '#lib/event-log/redis';
import { readTrustStore } from '#lib/key-store';
import type { Topic } from '#lib/event-log';
import { type JsonValue, type KeyRing, openTrustStore, type TrustStore, trustStoreDigest } from '#lib/ledger';
import { openCodec } from '#lib/schemas';
import type { Config } from '#lib/service';
import { usageError } from './exit-codes.js';

/** The log and the topics of a cluster, with whose signatures count. */
export interface Distributed extends KafkaLog {
  readonly trust: TrustStore;
  readonly keys: ReturnType<typeof openTrustStore>;
  /** Where it is configured: connects in the background, and comes back by itself. */
  readonly redis: Redis | null;
  /** Reads the bytes of a record. @throws SchemaError */
  readonly decode: (topic: Topic, bytes: Uint8Array) => Promise<JsonValue>;
}

export interface DistributedOptions {
  /** An error from which the log cannot go on. */
  readonly fatal: (error: unknown) => void;
  readonly observe?: KafkaObserver;
  /** Services should hear of a missing right when they start, commands may never need it. */
  readonly writes?: 'from the start' | 'when needed';
  /** Told of every fault of the connection to Redis. */
  readonly redisFault?: (error: Error) => void;
}

/**
 * Opens what the configuration names: trust store, schemas, Kafka and Redis, in this order. What was opened is closed when one of them fails.
 * @throws KeyStoreError, SchemaError, LogError, CliError for an empty trust store
 */
export async function openDistributed(
  config: Config<'kafka' | 'registry' | 'trust'>,
  { fatal, observe, redisFault, writes = 'when needed' }: DistributedOptions,
): Promise<Distributed> {
  const trust = readTrustStore(config.trust);
  if (trust.keys.length === 0)
    throw usageError(
      `the trust store ${config.trust} holds no key, so nothing can be checked: put the right one there`,
    );
  const keys = openTrustStore(trust);
  const ring: KeyRing = keys;
  const { kafka: connection, registry, prefix } = config;
  const codec = await openCodec({ registry, prefix });
  const log = await openKafkaLog({
    connection,
    prefix,
    codec,
    keys: ring,
    trustStore: trustStoreDigest(trust),
    fatal,
    sessionMs: config.sessionMs,
    writes,
    ...(observe === undefined ? {} : { observe }),
  });
  const redis = config.redis === undefined ? null : openRedis(config.redis, redisFault && { fault: redisFault });
  return {
    ...log,
    trust,
    keys,
    redis,
    decode: async (topic, bytes) => codec.decode(topic, bytes),
    async close() {
      redis?.disconnect();
      await log.close();
    },
  };
}
