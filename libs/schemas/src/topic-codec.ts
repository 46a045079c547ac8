import type { Type } from 'avsc';
import type { JsonValue, KeyId, SignedEntry } from '#lib/ledger';
import { boundsOf } from './bounds.js';
import { bridgeOf } from './bridge.js';
import type { AttachmentChunk, TopicCodec, WireTopic, WireValue } from './codec.js';
import { SchemaError } from './errors.js';
import { bufferOf, FRAME_BYTES, framed, schemaIdOf } from './frame.js';
import { schemaOf } from './schema-files.js';

/** How a topic's values go to avsc and come back, in the shape of this version's schema. */
interface Shape {
  toAvro(value: JsonValue | SignedEntry | AttachmentChunk): unknown;
  fromAvro(value: unknown): JsonValue | SignedEntry | AttachmentChunk;
}
type Reader = (bytes: Buffer) => unknown;

export interface CodecOptions {
  /** Of this version's schema of each topic. */
  readonly ids: ReadonlyMap<WireTopic, number>;
  /**
   * The schema under an id that this process has not met.
   * @throws SchemaError `schema_unknown`, `schema_incompatible`, `registry_unavailable`
   */
  readonly lookUp: (id: number) => Type | Promise<Type>;
}

/** The codec over whatever knows the schemas by their ids. */
export function createCodec({ ids, lookUp }: CodecOptions): TopicCodec {
  const shapes = new Map<WireTopic, Shape>();
  const readers = new Map<WireTopic, Map<number, Reader | SchemaError>>();

  function shapeOf(topic: WireTopic): Shape {
    const known = shapes.get(topic) ?? makeShape(topic);
    shapes.set(topic, known);
    return known;
  }

  function idOf(topic: WireTopic): number {
    const id = ids.get(topic);
    if (id === undefined)
      throw new SchemaError('schema_unknown', `the schema of ${topic} has no id: run truss deploy schemas`);
    return id;
  }

  function readersOf(topic: WireTopic): Map<number, Reader | SchemaError> {
    let known = readers.get(topic);
    if (known === undefined)
      readers.set(topic, (known = new Map([[idOf(topic), readerOf(topic, schemaOf(topic).type)]])));
    return known;
  }

  function read<T extends WireTopic>(topic: T, reader: Reader | SchemaError, bytes: Uint8Array): WireValue<T> {
    if (reader instanceof SchemaError) throw reader;
    const value = understood(topic, () => reader(bufferOf(bytes).subarray(FRAME_BYTES)));
    return shapeOf(topic).fromAvro(value) as WireValue<T>;
  }

  return {
    encode(topic, value) {
      const { type } = schemaOf(topic);
      const avro = shapeOf(topic).toAvro(value);
      const body = understood(topic, () => type.toBuffer(avro));
      const bytes = framed(idOf(topic), body.length);
      body.copy(bytes, FRAME_BYTES);
      return bytes;
    },
    decode(topic, bytes) {
      const id = schemaIdOf(bytes);
      const known = readersOf(topic);
      const reader = known.get(id);
      if (reader !== undefined) return read(topic, reader, bytes);
      const meet = (type: Type): Reader | SchemaError => {
        const met = resolved(topic, id, type);
        known.set(id, met);
        return met;
      };
      const found = lookUp(id);
      return found instanceof Promise
        ? found.then((type) => read(topic, meet(type), bytes))
        : read(topic, meet(found), bytes);
    },
  };
}

/** The reader of what was written with another schema, or why there is none. */
function resolved(topic: WireTopic, id: number, writer: Type): Reader | SchemaError {
  try {
    return readerOf(topic, writer);
  } catch (cause) {
    const why = cause instanceof Error ? `: ${cause.message}` : '';
    return new SchemaError('schema_incompatible', `schema ${id} cannot be read as a value of ${topic}${why}`, {
      cause,
    });
  }
}

function readerOf(topic: WireTopic, writer: Type): Reader {
  const { type } = schemaOf(topic);
  // A schema that differs in words only, such as a doc, is written the same.
  const same = type.equals(writer);
  // An entry has no counts to check, and is read most.
  const check = topic === 'eval.ledger' && same ? null : boundsOf(writer);
  const resolver = same ? undefined : type.createResolver(writer);
  return (bytes) => {
    check?.(bytes, 0);
    return type.fromBuffer(bytes, resolver) as unknown;
  };
}

/** Whatever avsc throws is about the value. */
function understood<R>(topic: WireTopic, work: () => R): R {
  try {
    return work();
  } catch (cause) {
    const why = cause instanceof Error ? `: ${cause.message}` : '';
    throw new SchemaError('value_malformed', `this is no value of ${topic}${why}`, { cause });
  }
}

function makeShape(topic: WireTopic): Shape {
  switch (topic) {
    case 'eval.ledger':
      return ENTRY;
    case 'eval.attachment':
      return CHUNK;
    default: {
      const bridge = bridgeOf(schemaOf(topic).schema);
      return {
        toAvro: (value) => bridge.toAvro(value as JsonValue, topic),
        fromAvro: (value) => bridge.toJson(value, topic),
      };
    }
  }
}

interface AvroEntry {
  readonly payload_type: string;
  readonly payload: Uint8Array;
  readonly keyid: string;
  readonly signature: Uint8Array;
}

const ENTRY: Shape = {
  toAvro: (value) => {
    const { payloadType, payload, keyid, signature } = value as SignedEntry;
    return { payload_type: payloadType, payload: bufferOf(payload), keyid, signature: bufferOf(signature) };
  },
  fromAvro: (value): SignedEntry => {
    const { payload_type, payload, keyid, signature } = value as AvroEntry;
    return { payloadType: payload_type, payload, keyid: keyid as KeyId, signature };
  },
};

const CHUNK: Shape = {
  toAvro: (value) => {
    const chunk = value as AttachmentChunk;
    return { ...chunk, bytes: bufferOf(chunk.bytes) };
  },
  fromAvro: (value): AttachmentChunk => {
    const { sha256, index, count, size, bytes } = value as AttachmentChunk;
    return { sha256, index, count, size, bytes };
  },
};
