import type { Topic } from '#lib/event-log';
import type { JsonValue, SignedEntry } from '#lib/ledger';

/** Every topic of a deployment, by its name without the prefix. */
export type WireTopic = Topic | 'eval.ledger' | 'eval.attachment' | 'eval.contract';
export const WIRE_TOPICS = [
  'eval.requested',
  'eval.accepted',
  'eval.child-run.commands',
  'eval.ledger',
  'eval.index',
  'eval.attachment',
  'eval.contract',
  'eval.report',
  'eval.dead-letter',
] as const satisfies readonly WireTopic[];

/** A part of an attachment. Parts of one may come from several writers, and in any order. */
export interface AttachmentChunk {
  /** Of the whole, in hex: what the entry names. */
  readonly sha256: string;
  /** From 0. */
  readonly index: number;
  readonly count: number;
  /** Bytes of the whole. */
  readonly size: number;
  readonly bytes: Uint8Array;
}

export interface WireValues {
  'eval.ledger': SignedEntry;
  'eval.attachment': AttachmentChunk;
}
/** What a topic carries; where it is JSON, exactly the shape that `Topics.publish` and `Topics.consume` use. */
export type WireValue<T extends WireTopic> = T extends keyof WireValues ? WireValues[T] : JsonValue;

export interface TopicCodec {
  /**
   * A value in Confluent wire format. Synchronous once the schema's id is known.
   * @throws SchemaError `value_malformed`
   */
  encode<T extends WireTopic>(topic: T, value: WireValue<T>): Uint8Array | Promise<Uint8Array>;
  /**
   * Reads a value that was written with this or any earlier schema. Synchronous once the schema's id is known.
   * @throws SchemaError `not_framed`, `schema_unknown`, `schema_incompatible`, `value_malformed`; `registry_unavailable` is retryable and
   * never a reason to give the record up
   */
  decode<T extends WireTopic>(topic: T, bytes: Uint8Array): WireValue<T> | Promise<WireValue<T>>;
}

/** The registry's subject of a topic's values. */
export function subjectOf(prefix: string, topic: WireTopic): string {
  return `${prefix}${topic}-value`;
}
