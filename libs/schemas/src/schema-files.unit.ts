import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { cancelRequestedSchema, acceptedSchema, reportSchema } from '#lib/evaluation';
import type { AvroObject, AvroSchema } from './bridge.js';
import { WIRE_TOPICS } from './codec.js';
import { SCHEMAS_FOLDER, schemaOf } from './schema-files.js';

/** Every record, enum, field and union in a schema, with where it stands. */
function* within(
  schema: AvroSchema,
  path: string,
): Generator<{ path: string; doc?: string | undefined; union?: readonly AvroSchema[]; name?: string | undefined }> {
  if (typeof schema === 'string') return;
  if (Array.isArray(schema)) {
    yield { path, union: schema as readonly AvroSchema[], doc: '-' };
    for (const branch of schema as readonly AvroSchema[]) yield* within(branch, path);
    return;
  }
  const { type, name, doc, fields = [], items, values } = schema as AvroObject;
  if (name !== undefined) yield { path: `${path}<${name}>`, doc, name };
  for (const field of fields) {
    yield { path: `${path}.${field.name}`, doc: field.doc };
    yield* within(field.type, `${path}.${field.name}`);
  }
  for (const inner of [items, values]) if (inner !== undefined) yield* within(inner, `${path}[]`);
  if (typeof type === 'object') yield* within(type, path);
}

const NUMERIC = ['int', 'long', 'float', 'double'];
const typeName = (schema: AvroSchema): unknown =>
  typeof schema === 'object' && !Array.isArray(schema) ? (schema as AvroObject).type : schema;

describe.each(WIRE_TOPICS)('the schema of %s', (topic) => {
  const parts = [...within(schemaOf(topic).schema, topic)];

  test('says of every record, enum and field what it is', () => {
    expect(parts.filter(({ doc = '' }) => doc.trim().length === 0).map(({ path }) => path)).toEqual([]);
  });

  test('has no union of two numeric types: adding one would change what a value looks like', () => {
    const unions = parts.flatMap(({ path, union = [] }) => (union.length > 0 ? [{ path, union }] : []));
    const twice = unions.filter(
      ({ union }) => union.filter((one) => NUMERIC.includes(String(typeName(one)))).length > 1,
    );
    expect(twice).toEqual([]);
  });

  test('registers the text of its file', () => {
    const file = JSON.parse(readFileSync(join(SCHEMAS_FOLDER, `${topic}.avsc`), 'utf8')) as unknown;
    expect(JSON.parse(schemaOf(topic).text)).toEqual(file);
  });
});

test('there is a schema file for each topic and no other', () => {
  const files = readdirSync(SCHEMAS_FOLDER).filter((name) => name.endsWith('.avsc'));
  expect(files.sort()).toEqual(WIRE_TOPICS.map((topic) => `${topic}.avsc`).sort());
});

type Shape = string | { readonly [key: string]: Shape };

/** The keys of a value's JSON form and the words it may be, by its Avro schema. */
function shapeOf(schema: AvroSchema, named = new Map<string, Shape>()): Shape {
  if (typeof schema === 'string') return named.get(schema) ?? '';
  if (Array.isArray(schema)) {
    const [only, ...more] = (schema as readonly AvroSchema[]).filter((branch) => branch !== 'null');
    if (only === undefined || more.length > 0) throw new Error('not the union of null and one other');
    return shapeOf(only, named);
  }
  const { type, name = '', fields = [], symbols = [], items, values, json, jsonKind } = schema as AvroObject;
  if (items !== undefined) return { '[]': shapeOf(items, named) };
  if (values !== undefined) return { '{}': shapeOf(values, named) };
  if (json === 'tuple' || json === 'text') return remember('', name, named);
  if (type === 'enum') return remember(symbols.toSorted().join('|'), name, named);
  if (type !== 'record') return '';
  const kind = jsonKind === undefined ? [] : [['kind', jsonKind] as const];
  const keys = fields.map((field) => [field.jsonName ?? field.name, shapeOf(field.type, named)] as const);
  return remember(Object.fromEntries([...kind, ...keys]), name, named);
}

function remember(shape: Shape, name: string, named: Map<string, Shape>): Shape {
  named.set(name, shape);
  return shape;
}

/** The same of a JSON Schema, as far as the Avro schema says it: where that has any text, this may say which. */
function sameShape(json: z.core.JSONSchema.BaseSchema, avro: Shape, path: string): string[] {
  const known = json.anyOf?.find((one) => (one as { type?: string }).type !== 'null') ?? json;
  if (typeof known === 'boolean') return [];
  if (typeof avro === 'string') {
    const words = known.const === undefined ? known.enum : [known.const];
    return avro === '' || avro === words?.toSorted().join('|')
      ? []
      : [`${path} is ${words?.join('|')}, and in Avro ${avro}`];
  }
  if ('[]' in avro) return sameShape(known.items as z.core.JSONSchema.BaseSchema, avro['[]'], `${path}[]`);
  if ('{}' in avro)
    return sameShape(known.additionalProperties as z.core.JSONSchema.BaseSchema, avro['{}'], `${path}{}`);
  const properties = (known.properties ?? {}) as Record<string, z.core.JSONSchema.BaseSchema>;
  const keys = new Set([...Object.keys(properties), ...Object.keys(avro)]);
  return [...keys].flatMap((key) => {
    const [inner, other] = [properties[key], avro[key]];
    if (inner === undefined || other === undefined)
      return [`${path}.${key} is only in the ${inner === undefined ? 'Avro' : 'zod'} schema`];
    return sameShape(inner, other, `${path}.${key}`);
  });
}

const jsonSchemaOf = (schema: z.ZodType) =>
  z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input', reused: 'inline' });
const recordsOf = (topic: 'eval.requested' | 'eval.accepted') => schemaOf(topic).schema as readonly AvroSchema[];

describe('the code and its schemas name the same fields', () => {
  test('of a report', () => {
    const { envelope, ...avro } = shapeOf(schemaOf('eval.report').schema) as Record<string, Shape>;
    expect(envelope).toBeDefined();
    expect(sameShape(jsonSchemaOf(reportSchema), avro, 'report')).toEqual([]);
  });

  test('of an acceptance and of a cancel', () => {
    const [accepted, cancelled] = acceptedSchema.options;
    expect(sameShape(jsonSchemaOf(accepted), shapeOf(recordsOf('eval.accepted')[0] ?? ''), 'accepted')).toEqual([]);
    expect(sameShape(jsonSchemaOf(cancelled), shapeOf(recordsOf('eval.accepted')[1] ?? ''), 'cancelled')).toEqual([]);
    const { signature, ...cancel } = shapeOf(recordsOf('eval.requested')[1] ?? '') as Record<string, Shape>;
    expect(signature).toBeDefined();
    expect(sameShape(jsonSchemaOf(cancelRequestedSchema), cancel, 'cancel')).toEqual([]);
  });

  test('and this test sees it where they do not', () => {
    const drifted = z.strictObject({ ...reportSchema.shape, verdict: z.enum(['pass', 'maybe']), more: z.string() });
    const { envelope: _, ...avro } = shapeOf(schemaOf('eval.report').schema) as Record<string, Shape>;
    expect(sameShape(jsonSchemaOf(drifted), avro, 'report')).toEqual([
      'report.verdict is pass|maybe, and in Avro fail|pass',
      'report.more is only in the zod schema',
    ]);
  });
});
