import { canonicalJson, type JsonValue, type KeyId, type SignedEntry, utf8, utf8Decode } from '#lib/ledger';
import type { AttachmentChunk, TopicCodec, WireTopic, WireValue } from './codec.js';
import { SchemaError } from './errors.js';
import { FRAME_BYTES, framed, schemaIdOf } from './frame.js';

const ID = 1;

/** For tests of a log's own behaviour: takes any JSON on any topic, in a frame with a fixed id, and needs no registry. */
export function createPlainCodec(): TopicCodec {
  return {
    encode: (topic, value) => {
      const text = utf8(canonicalJson(toJson(topic, value)));
      const bytes = framed(ID, text.length);
      bytes.set(text, FRAME_BYTES);
      return bytes;
    },
    decode: <T extends WireTopic>(topic: T, bytes: Uint8Array) => {
      if (schemaIdOf(bytes) !== ID)
        throw new SchemaError('schema_unknown', 'the schema is not that of the plain codec');
      try {
        return fromJson(topic, JSON.parse(utf8Decode(bytes.subarray(FRAME_BYTES)))) as WireValue<T>;
      } catch (cause) {
        throw new SchemaError('value_malformed', 'the value is not JSON', { cause });
      }
    },
  };
}

function toJson(topic: WireTopic, value: JsonValue | SignedEntry | AttachmentChunk): JsonValue {
  if (topic === 'eval.ledger') {
    const { payloadType, payload, keyid, signature } = value as SignedEntry;
    return { payloadType, payload: base64(payload), keyid, signature: base64(signature) };
  }
  if (topic === 'eval.attachment') {
    const { bytes, ...rest } = value as AttachmentChunk;
    return { ...rest, bytes: base64(bytes) };
  }
  return value as JsonValue;
}

function fromJson(topic: WireTopic, value: JsonValue): JsonValue | SignedEntry | AttachmentChunk {
  if (topic === 'eval.ledger') {
    const { payloadType, payload, keyid, signature } = value as Record<string, string>;
    return {
      payloadType: String(payloadType),
      payload: bytesOf(payload),
      keyid: String(keyid) as KeyId,
      signature: bytesOf(signature),
    };
  }
  if (topic === 'eval.attachment') {
    const chunk = value as { sha256: string; index: number; count: number; size: number; bytes: string };
    return { ...chunk, bytes: bytesOf(chunk.bytes) };
  }
  return value;
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const bytesOf = (text: string | undefined): Uint8Array => Buffer.from(text ?? '', 'base64');
