import { cloudEventHeaders, EVENT_TYPES, type WireTopic, type WireValue } from '#lib/schemas';
import type { Decoding } from './decoding.js';
import type { DirectReader } from './direct.js';
import { partitionOf, topicName } from './names.js';
import type { SendQueue } from './send-queue.js';

export interface Event {
  /** The same again for a copy of the record. */
  readonly id: string;
  readonly subject: string;
  readonly trace?: string;
}

/** Sends values as CloudEvents in Confluent wire format, each to the partition that its key names. */
export class Sender {
  constructor(
    private readonly options: {
      readonly prefix: string;
      readonly source: string;
      readonly queue: SendQueue;
      readonly decoding: Decoding;
      readonly reader: DirectReader;
    },
  ) {}

  partition(topic: WireTopic, key: string): number {
    return partitionOf(key, this.options.reader.partitions(topicName(this.options.prefix, topic)));
  }

  /** Resolves with the offset when the record is durable. @throws LogError, SchemaError `value_malformed` */
  async send<T extends WireTopic>(
    topic: T,
    key: string | Buffer | null,
    value: WireValue<T>,
    event: Event,
  ): Promise<number> {
    const { prefix, source, queue, decoding } = this.options;
    const encoded = decoding.encode(topic, value);
    const bytes = encoded instanceof Promise ? await encoded : encoded;
    return queue.send({
      topic: topicName(prefix, topic),
      partition: this.partition(topic, String(key ?? '')),
      key,
      value: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      headers: cloudEventHeaders({
        type: EVENT_TYPES[topic],
        source,
        subject: event.subject,
        id: event.id,
        time: new Date().toISOString(),
        ...(event.trace === undefined ? {} : { traceparent: event.trace }),
      }),
    });
  }
}
