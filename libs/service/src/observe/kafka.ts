import type { Logger } from 'pino';
import type { KafkaObserver } from '#lib/event-log/kafka';
import type { Metrics } from './metrics.js';

/** What the adapter tells by itself: its troubles with the cluster, and records that never reach a service. */
export function kafkaObserver(logger: Logger, { counted }: Metrics): KafkaObserver {
  return {
    folded(_entry, joining) {
      if (joining === 'superseded') counted.superseded();
    },
    foreign: () => counted.foreign(),
    deadLetter(topic, code) {
      counted.deadLetter(topic, code);
    },
    trouble(doing, err) {
      counted.trouble(doing);
      logger.warn({ doing, err }, 'the cluster did not do it: trying again');
    },
    said(message, details) {
      logger.warn({ ...details }, message);
    },
  };
}
