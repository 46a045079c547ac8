import type { JsonValue, KeyId, SignedEntry } from '#lib/ledger';
import { SchemaError, type TopicCodec, type WireTopic, type WireValue } from '#lib/schemas';
import { markOf, markValue } from './mark.js';
import type { Topic } from '../port.js';
import type { KafkaObserver } from './observer.js';
import { type Life, waitAgain } from './retry.js';

/** Topics that keep the last record of each key. */
const COMPACTED: ReadonlySet<WireTopic> = new Set<WireTopic>(['eval.index', 'eval.contract']);

/** The codec, with a registry that is away waited for, so that no record is given up for it. */
export class Decoding {
  constructor(
    private readonly codec: TopicCodec,
    private readonly life: Life,
    private readonly observer: KafkaObserver,
  ) {}

  encode<T extends WireTopic>(topic: T, value: WireValue<T>): Uint8Array | Promise<Uint8Array> {
    return this.codec.encode(topic, value);
  }

  /** At once, where the schema is known. @throws SchemaError for what is wrong with the value; LogError `log_closed` */
  decode<T extends WireTopic>(topic: T, bytes: Uint8Array | null): WireValue<T> | Promise<WireValue<T>> {
    if (bytes === null) throw new SchemaError('value_malformed', 'the record has no value');
    const mark = topic === 'eval.index' ? markOf(bytes) : null;
    if (mark !== null) return markValue(mark) as WireValue<T>;
    try {
      const value = this.codec.decode(topic, bytes);
      return value instanceof Promise ? this.#patiently(topic, bytes, value) : value;
    } catch (error) {
      if (!(error instanceof SchemaError)) throw asMalformed(error);
      if (!error.retryable) throw error;
      this.observer.trouble?.('decode', error);
      return waitAgain(0).then(() => this.#patiently(topic, bytes, undefined));
    }
  }

  /** As `decode`; a record without a value, with which a compacted topic takes back what its key says, is null. */
  value(topic: Topic, bytes: Uint8Array | null): JsonValue | Promise<JsonValue>;
  value(topic: WireTopic, bytes: Uint8Array | null): WireValue<WireTopic> | Promise<WireValue<WireTopic>>;
  value(topic: WireTopic, bytes: Uint8Array | null): WireValue<WireTopic> | Promise<WireValue<WireTopic>> {
    return bytes === null && COMPACTED.has(topic) ? null : this.decode(topic, bytes);
  }

  async #patiently<T extends WireTopic>(
    topic: T,
    bytes: Uint8Array,
    begun: Promise<WireValue<T>> | undefined,
  ): Promise<WireValue<T>> {
    let under = begun;
    for (let attempt = 1; ; attempt++) {
      this.life.assert();
      try {
        return await this.life.bound(Promise.resolve(under ?? this.codec.decode(topic, bytes)));
      } catch (error) {
        this.life.assert();
        if (!(error instanceof SchemaError)) throw asMalformed(error);
        if (!error.retryable) throw error;
        this.observer.trouble?.('decode', error);
        under = undefined;
        await waitAgain(attempt);
      }
    }
  }

  /** A record of the ledger; one that cannot be decoded is an entry that nobody signed. */
  async entry(bytes: Uint8Array | null): Promise<SignedEntry> {
    try {
      const { payloadType, payload, keyid, signature } = await this.decode('eval.ledger', bytes);
      // Copies: the client's buffers hold all that was fetched with them.
      return { payloadType, payload: Uint8Array.from(payload), keyid, signature: Uint8Array.from(signature) };
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      const none = new Uint8Array();
      return {
        payloadType: `undecodable: ${error.code}`,
        payload: Uint8Array.from(bytes ?? none),
        keyid: '' as KeyId,
        signature: none,
      };
    }
  }
}

function asMalformed(cause: unknown): SchemaError {
  return new SchemaError('value_malformed', 'the value cannot be read', { cause });
}
