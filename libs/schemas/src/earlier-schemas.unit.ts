import { describe, expect, test } from 'vitest';
import { type AvroObject, type AvroSchema, bridgeOf } from './bridge.js';
import { createFixedCodec } from './fixed-codec.testkit.js';
import { framed } from './frame.js';
import { schemaOf, typeOf } from './schema-files.js';
import { aReport, ENTRY, REQUEST } from './values.testkit.js';
import type { JsonObject, JsonValue } from '#lib/ledger';

const OTHER = 500;

/** A record written under another schema, by whoever has that schema. */
function written(schema: AvroSchema, value: JsonValue): Uint8Array {
  const body = typeOf(schema).toBuffer(bridgeOf(schema).toAvro(value, 'value'));
  return Buffer.concat([framed(OTHER, 0), body]);
}

describe('a record that was written with another schema', () => {
  test('of an earlier version, without a nullable field that came later, reads with null', () => {
    const { schema } = schemaOf('eval.index');
    const earlier = { ...(schema as AvroObject), fields: (schema as AvroObject).fields?.slice(0, 2) ?? [] };
    const codec = createFixedCodec({ [OTHER]: earlier });
    expect(codec.decode('eval.index', written(earlier, { eval_run_id: 'ev', from: 4 }))).toEqual({
      eval_run_id: 'ev',
      from: 4,
      outcome: null,
    });
  });

  test('with a field that this version does not know reads without it', () => {
    const { schema } = schemaOf('eval.ledger');
    const fields = (schema as AvroObject).fields ?? [];
    const later = { ...(schema as AvroObject), fields: [{ name: 'more', type: 'string' }, ...fields] };
    const codec = createFixedCodec({ [OTHER]: later });
    const { payload, signature, keyid, payloadType: payload_type } = ENTRY;
    const body = typeOf(later).toBuffer({
      more: 'x',
      payload_type,
      keyid,
      payload: Buffer.from(payload),
      signature: Buffer.from(signature),
    });
    expect(codec.decode('eval.ledger', Buffer.concat([framed(OTHER, 0), body]))).toEqual({
      ...ENTRY,
      payload: Buffer.from(payload),
      signature: Buffer.from(signature),
    });
  });

  test('by a client that registered the record alone, and not the union, reads as that record', () => {
    const [alone] = schemaOf('eval.requested').schema as readonly AvroSchema[];
    const codec = createFixedCodec({ [OTHER]: alone });
    expect(codec.decode('eval.requested', written(alone ?? '', REQUEST))).toEqual(REQUEST);
  });

  test('keeps the shape of its values where a union has more branches now', async () => {
    const report = await aReport();
    const earlier = JSON.parse(
      JSON.stringify(schemaOf('eval.report').schema).replaceAll('["null","long"],"default":null', '"long"'),
    ) as AvroObject;
    const known = { ...(report['delta'] as JsonObject), input_tokens: 5, output_tokens: 6, total_tokens: 11 };
    const value = { ...report, delta: known };
    const codec = createFixedCodec({ [OTHER]: earlier });
    expect(codec.decode('eval.report', written(earlier, value))).toStrictEqual(value);
  });
});

test('a schema that is met for the first time is looked up once, and then read from the cache', () => {
  const { schema } = schemaOf('eval.index');
  let asked = 0;
  const others = Object.defineProperty({}, OTHER, { get: () => (asked++, schema) }) as Record<number, AvroSchema>;
  const codec = createFixedCodec(others);
  const bytes = written(schema, { eval_run_id: 'ev', from: 4, outcome: null });
  void codec.decode('eval.index', bytes);
  const before = asked;
  for (let i = 0; i < 10; i++) void codec.decode('eval.index', bytes);
  expect(asked).toBe(before);
});
