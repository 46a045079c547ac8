import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '#lib/ledger';
import type { WireTopic } from './codec.js';
import { createFixedCodec } from './fixed-codec.testkit.js';
import { aReport, CHUNK, ENTRY, REQUEST, valuesOf } from './values.testkit.js';

const codec = createFixedCodec();
const values = await valuesOf();
const there = (topic: WireTopic, value: JsonValue): Uint8Array => codec.encode(topic, value) as Uint8Array;
const code = (expected: string) => expect.objectContaining({ name: 'SchemaError', code: expected });

describe('a value that a service writes', () => {
  test.each(Object.entries(values).flatMap(([topic, all]) => all.map((value, at) => [topic, at, value] as const)))(
    'on %s (%i) comes back equal, with nothing added and nothing lost',
    (topic, _, value) => {
      expect(codec.decode(topic as 'eval.report', there(topic as WireTopic, value))).toStrictEqual(value);
    },
  );

  test('a signed entry comes back byte for byte', () => {
    const decoded = codec.decode('eval.ledger', codec.encode('eval.ledger', ENTRY) as Uint8Array);
    expect(decoded).toEqual({ ...ENTRY, payload: Buffer.from(ENTRY.payload), signature: Buffer.from(ENTRY.signature) });
  });

  test('a part of an attachment comes back byte for byte', () => {
    const decoded = codec.decode('eval.attachment', codec.encode('eval.attachment', CHUNK) as Uint8Array);
    expect(decoded).toEqual({ ...CHUNK, bytes: Buffer.from(CHUNK.bytes) });
  });

  test('does not share its bytes with the batch that it came in', () => {
    const bytes = codec.encode('eval.ledger', ENTRY) as Uint8Array;
    const decoded = codec.decode('eval.ledger', bytes) as typeof ENTRY;
    bytes.fill(0);
    expect(decoded.payload).toEqual(Buffer.from(ENTRY.payload));
  });
});

describe('a request from outside', () => {
  test('may leave out what has a default, and the default is what is read', () => {
    const { kind, request_id, requester, contract } = REQUEST;
    const least = { kind, request_id, requester, contract } as JsonObject;
    expect(codec.decode('eval.requested', there('eval.requested', least))).toEqual({
      ...REQUEST,
      repeats: null,
      seed: 0,
      limits: { max_cost_nano_usd: null },
    });
  });
});

describe('a report', async () => {
  const report = await aReport();

  test('carries money as whole nano-dollars, exact up to nine million dollars', () => {
    for (const nano of [
      0,
      1,
      3,
      1_234_567,
      999_999_999,
      -5,
      2 ** 51 + 7,
      2 ** 52 - 3,
      2 ** 53 - 3,
      8_999_999_999_999_999,
    ]) {
      const value = { ...report, delta: { ...(report['delta'] as JsonObject), cost_usd: nano / 1e9 } };
      expect(codec.decode('eval.report', there('eval.report', value))).toStrictEqual(value);
    }
  });

  test('with a fraction of a nano-dollar is refused, not rounded', () => {
    const value = { ...report, delta: { ...(report['delta'] as JsonObject), cost_usd: 1.5e-9 } };
    expect(() => there('eval.report', value)).toThrowError(code('value_malformed'));
  });

  test('of version 1, without what version 2 added, comes back without it', () => {
    const { prompts: _, ...environment } = report['environment'] as JsonObject;
    const value = { ...report, environment };
    expect(codec.decode('eval.report', there('eval.report', value))).toStrictEqual(value);
  });

  test('says unknown as null and never as zero', () => {
    const value = { ...report, delta: { ...(report['delta'] as JsonObject), cost_usd: null, input_tokens: null } };
    expect(codec.decode('eval.report', there('eval.report', value))).toMatchObject({
      delta: { cost_usd: null, input_tokens: null },
    });
  });
});

describe('a value that its schema cannot say is refused where it is written', () => {
  const index = { eval_run_id: 'ev', from: 1, outcome: null };
  const cases: [string, WireTopic, JsonValue, string][] = [
    ['a field that is not in the schema', 'eval.index', { ...index, more: 1 }, 'eval.index.more is no field'],
    ['a missing field', 'eval.index', { eval_run_id: 'ev', outcome: null }, 'eval.index.from is missing'],
    ['an integer past what JSON readers agree on', 'eval.index', { ...index, from: 2 ** 53 }, 'eval.index.from is'],
    ['a fraction for a whole number', 'eval.index', { ...index, from: 0.5 }, 'eval.index.from is 0.5'],
    ['NaN', 'eval.index', { ...index, from: Number.NaN }, 'eval.index.from is NaN'],
    ['a number for a text', 'eval.index', { ...index, eval_run_id: 5 }, 'eval.index.eval_run_id is 5'],
    ['a lone surrogate', 'eval.index', { ...index, outcome: '\ud800' }, 'eval.index.outcome is'],
    ['null for a record', 'eval.index', null, 'eval.index is null'],
    ['a kind that nobody knows', 'eval.requested', { ...REQUEST, kind: 'more' }, 'eval.requested.kind is "more"'],
    [
      'base64 that is not canonical',
      'eval.dead-letter',
      { ...(values['eval.dead-letter'][0] as JsonObject), bytes: 'AAECAw' },
      'eval.dead-letter.bytes is',
    ],
  ];
  test.each(cases)('%s', (_, topic, value, message) => {
    expect(() => there(topic, value)).toThrowError(code('value_malformed'));
    expect(() => there(topic, value)).toThrowError(message);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('%s in a double, which Avro would take', (alpha) => {
    const value = { ...REQUEST, statistics: { primary: null, alpha, margin: null } };
    expect(() => there('eval.requested', value)).toThrowError('eval.requested.statistics.alpha');
  });
});
