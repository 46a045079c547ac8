import type { KafkaMessage } from 'kafkajs';
import type { WireTopic } from '#lib/schemas';
import type { Topic, TopicRecord } from '../port.js';
import { RAW, type RawRecord } from './dead-letters.js';

/** A copy: the client's buffers hold all that was fetched with it. */
export function rawOf(topic: WireTopic, partition: number, { key, value, headers, offset }: KafkaMessage): RawRecord {
  return {
    topic,
    partition,
    message: {
      key: key === null ? null : Buffer.from(key),
      value: value === null ? null : Buffer.from(value),
      offset,
      ...(headers === undefined ? {} : { headers }),
    },
  };
}

/** The record as the port has it; the dead letters find its bytes again. */
export function recordOf(raw: RawRecord, value: TopicRecord['value']): TopicRecord {
  const { topic, partition, message } = raw;
  const trace = message.headers?.['traceparent'];
  const record = {
    topic: topic as Topic,
    partition,
    position: Number(message.offset),
    key: message.key?.toString() ?? '',
    value,
    bytes: message.value?.length ?? 0,
    ...(trace === undefined ? {} : { trace: String(trace) }),
  };
  return Object.assign(record, { [RAW]: raw });
}
