import { describe, expect, test } from 'vitest';
import { utf8 } from '#lib/ledger';
import { WIRE_TOPICS, type WireTopic } from './codec.js';
import { createFixedCodec } from './fixed-codec.testkit.js';
import { CHUNK, ENTRY, valuesOf } from './values.testkit.js';

const values = await valuesOf();
const FOREIGN = 1000;
const codec = createFixedCodec({
  [FOREIGN]: { type: 'record', name: 'Other', fields: [{ name: 'x', type: 'long' }] },
  // All that the index has, and an array of nothing behind it.
  [FOREIGN + 1]: {
    type: 'record',
    name: 'EvaluationIndex',
    namespace: 'truss.eval',
    fields: [
      { name: 'nothing', type: { type: 'array', items: 'null' } },
      { name: 'eval_run_id', type: 'string' },
      { name: 'from', type: 'long' },
    ],
  },
  [FOREIGN + 2]: 'string',
});
const code = (expected: string) => expect.objectContaining({ name: 'SchemaError', code: expected, retryable: false });
const decode = (topic: WireTopic, bytes: Uint8Array) => codec.decode(topic, bytes);
const idOf = (topic: WireTopic) => WIRE_TOPICS.indexOf(topic) + 1;
const withId = (id: number, ...body: number[]) => Uint8Array.of(0, 0, 0, id >> 8, id & 255, ...body);

/** A well-formed record of each topic. */
const records = WIRE_TOPICS.map((topic) => {
  if (topic === 'eval.ledger') return [topic, codec.encode(topic, ENTRY) as Uint8Array] as const;
  if (topic === 'eval.attachment') return [topic, codec.encode(topic, CHUNK) as Uint8Array] as const;
  return [topic, codec.encode(topic, values[topic][0] ?? null) as Uint8Array] as const;
});

describe.each(records)('poison on %s', (topic, good) => {
  test('two bytes, nothing, and another magic byte are not framed', () => {
    for (const bytes of [
      new Uint8Array(),
      Uint8Array.of(0, 0),
      utf8('{"plain":"json"}'),
      Uint8Array.of(1, ...good.subarray(1)),
    ])
      expect(() => decode(topic, bytes)).toThrowError(code('not_framed'));
  });

  test('an id that nobody registered is unknown', () => {
    expect(() => decode(topic, withId(999, 0))).toThrowError(code('schema_unknown'));
  });

  test('a schema of something else is incompatible', () => {
    expect(() => decode(topic, withId(FOREIGN, 2))).toThrowError(code('schema_incompatible'));
    expect(() => decode(topic, withId(FOREIGN + 2, 2, 65))).toThrowError(code('schema_incompatible'));
  });

  test('a value that is cut off anywhere is malformed', () => {
    const step = Math.max(1, Math.floor(good.length / 400));
    for (let end = 5; end < good.length; end += step)
      expect(() => decode(topic, good.subarray(0, end))).toThrowError(code('value_malformed'));
  });

  test('a value with something behind it is malformed', () => {
    expect(() => decode(topic, Uint8Array.of(...good, 0))).toThrowError(code('value_malformed'));
  });

  test('random bytes under the right id are malformed or a value, and answered at once', () => {
    let state = 1;
    const next = () => (state = (state * 48271) % 0x7fffffff);
    const begun = performance.now();
    for (let round = 0; round < 2000; round++) {
      const bytes = Uint8Array.from({ length: next() % 60 }, () => next() & 255);
      try {
        void decode(topic, withId(idOf(topic), ...bytes));
      } catch (error) {
        expect(error).toEqual(code('value_malformed'));
      }
    }
    expect(performance.now() - begun).toBeLessThan(20_000);
  });
});

describe('a count that the bytes cannot hold is refused before anything is read', () => {
  const huge = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f];

  test('of items', () => {
    const letter = decode.bind(null, 'eval.dead-letter');
    const start = [2, 65, 2, 65, 2, 65, 0, 0, 0, 0];
    expect(letter(withId(idOf('eval.dead-letter'), ...start, 0))).toMatchObject({ headers: [] });
    expect(() => letter(withId(idOf('eval.dead-letter'), ...start, ...huge))).toThrowError(code('value_malformed'));
  });

  test('of items that take no byte, in a field that is skipped', () => {
    const index = (...nothing: number[]) => decode('eval.index', withId(FOREIGN + 1, ...nothing, 2, 65, 0));
    expect(index(4, 0)).toEqual({ eval_run_id: 'A', from: 0, outcome: null });
    expect(() => index(...huge, 0)).toThrowError(code('value_malformed'));
  });

  test('of a block that lies about its size', () => {
    const index = (...nothing: number[]) => decode('eval.index', withId(FOREIGN + 1, ...nothing, 2, 65, 0));
    expect(index(3, 0, 0)).toMatchObject({ from: 0 });
    expect(() => index(3, 1, 0)).toThrowError(code('value_malformed'));
  });
});
