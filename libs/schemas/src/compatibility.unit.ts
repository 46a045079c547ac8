import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AvroObject, AvroField } from './bridge.js';
import { WIRE_TOPICS } from './codec.js';
import { incompatibilities } from './compatibility.testkit.js';
import { readSchema, SCHEMAS_FOLDER, schemaOf } from './schema-files.js';

const RELEASED = join(SCHEMAS_FOLDER, 'released');
/** `<topic>.avsc` is what the last release registered; `<topic>.<n>.avsc` are those of earlier ones that differed. */
const releasedOf = (topic: string) =>
  readdirSync(RELEASED).filter(
    (name) =>
      name === `${topic}.avsc` || (name.startsWith(`${topic}.`) && /^\d+\.avsc$/.test(name.slice(topic.length + 1))),
  );

describe.each(WIRE_TOPICS)('the schema of %s', (topic) => {
  test('reads whatever any released version wrote (BACKWARD_TRANSITIVE)', () => {
    expect(existsSync(join(RELEASED, `${topic}.avsc`))).toBe(true);
    for (const file of releasedOf(topic)) {
      const { schema } = readSchema(join(RELEASED, file));
      expect([file, incompatibilities(schemaOf(topic).schema, schema)]).toEqual([file, []]);
    }
  });
});

describe('an incompatible change is found:', () => {
  const before = schemaOf('eval.report').schema as AvroObject;
  const changed = (change: (fields: AvroField[]) => AvroField[]): AvroObject => ({
    ...before,
    fields: change([...(before.fields ?? [])]),
  });
  const replaced = (from: string, to: string) => JSON.parse(JSON.stringify(before).replace(from, to)) as AvroObject;
  const cases: [string, AvroObject, RegExp][] = [
    ['a new field without a default', changed((fields) => [...fields, { name: 'more', type: 'string' }]), /more/],
    [
      'another type',
      changed((fields) => fields.map((field) => (field.name === 'summary' ? { ...field, type: 'long' } : field))),
      /.+/,
    ],
    ['another name of a record', replaced('"name":"Delta"', '"name":"Difference"'), /Delta/],
    ['a word less in an enum', replaced('["pass","fail"]', '["pass"]'), /Verdict lost fail/],
    ['null no more', replaced('["null","double"],"default":null', '"double"'), /.+/],
    ['another name in JSON', replaced('"jsonName":"cost_usd"', '"jsonName":"cost"'), /JSON form/],
  ];
  test.each(cases)('%s', (_, after, reason) => {
    expect(incompatibilities(after, before).join('\n')).toMatch(reason);
  });

  test('and a new field with a default, a new word or a field less are none', () => {
    const more = changed((fields) => [...fields, { name: 'more', type: ['null', 'string'], default: null }]);
    expect(incompatibilities(more, before)).toEqual([]);
    expect(incompatibilities(replaced('["pass","fail"]', '["pass","fail","tie"]'), before)).toEqual([]);
    expect(
      incompatibilities(
        changed((fields) => fields.filter(({ name }) => name !== 'summary')),
        before,
      ),
    ).toEqual([]);
  });
});
