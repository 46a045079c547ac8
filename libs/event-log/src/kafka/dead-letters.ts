import type { IHeaders, KafkaMessage } from 'kafkajs';
import type { JsonValue } from '#lib/ledger';
import type { WireTopic } from '#lib/schemas';
import { LogError, type TopicRecord } from '../port.js';
import type { KafkaObserver } from './observer.js';
import type { Sender } from './sender.js';

/** A record as it came. */
export interface RawRecord {
  readonly topic: WireTopic;
  readonly partition: number;
  readonly message: Pick<KafkaMessage, 'key' | 'value' | 'headers' | 'offset'>;
}

/** On every record that the adapter delivers: how it came. A symbol, so that copies of the record have it too. */
export const RAW = Symbol('truss.raw');

/** Puts what cannot be used on `eval.dead-letter`, byte for byte. */
export class DeadLetters {
  constructor(
    private readonly sender: Sender,
    private readonly observer: KafkaObserver,
  ) {}

  async refuse(record: TopicRecord & { readonly [RAW]?: RawRecord }, code: string, reason: string): Promise<void> {
    const raw = record[RAW];
    if (raw === undefined) throw new LogError('log_unreadable', 'only a record that was delivered can be refused');
    await this.put(raw, code, reason);
  }

  /** Resolves when the letter is durable. */
  async put({ topic, partition, message }: RawRecord, code: string, reason: string): Promise<void> {
    const place = `${topic}/${partition}/${message.offset}`;
    const letter: JsonValue = {
      code,
      reason,
      topic,
      partition,
      position: Number(message.offset),
      time: Date.now(),
      bytes: message.value === null ? null : message.value.toString('base64'),
      headers: headersOf(message.headers ?? {}),
    };
    await this.sender.send('eval.dead-letter', message.key ?? null, letter, { id: place, subject: place });
    this.observer.deadLetter?.(topic, code);
  }
}

function headersOf(headers: IHeaders): JsonValue {
  return Object.entries(headers).flatMap(([key, value]) =>
    [value].flat().map((one) => ({ key, value: one === undefined ? null : Buffer.from(one).toString('base64') })),
  );
}
