import type { ConnectionOptions } from 'node:tls';
import { Kafka, logLevel, type SASLOptions } from 'kafkajs';
import { registerCodecs } from './compression.js';
import type { KafkaObserver } from './observer.js';
import { quietRequestQueues } from './quiet-queue.js';

export interface KafkaConnection {
  /** `host:port` each; the rest of the cluster is found through them. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly ssl?: ConnectionOptions | true;
  readonly sasl?: SASLOptions;
}

const CONNECT_MS = 5_000;
const REQUEST_MS = 10_000;

export function createClient({ brokers, clientId, ssl, sasl }: KafkaConnection, observer: KafkaObserver): Kafka {
  quietRequestQueues();
  registerCodecs();
  return new Kafka({
    brokers: [...brokers],
    clientId,
    ...(ssl === undefined ? {} : { ssl }),
    ...(sasl === undefined ? {} : { sasl }),
    connectionTimeout: CONNECT_MS,
    authenticationTimeout: CONNECT_MS,
    requestTimeout: REQUEST_MS,
    retry: { initialRetryTime: 50, maxRetryTime: 1_000, retries: 5 },
    logLevel: logLevel.WARN,
    logCreator:
      () =>
      ({ namespace, log: { message, ...details } }) => {
        if (!message.startsWith(EXPECTED)) observer.said?.(`${namespace}: ${message}`, details);
      },
  });
}

/** The send queue does the retries itself. */
const EXPECTED = 'Limiting retries for the idempotent producer';
