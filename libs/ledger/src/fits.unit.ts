import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { BODIES, type EntryType } from './bodies.js';
import { fitsOf } from './fits.js';
import type { JsonValue } from './jcs.js';

/** Values that a schema accepts. */
function accepted(schema: z.core.$ZodType): fc.Arbitrary<unknown> {
  const def = (schema as z.core.$ZodTypes)._zod.def;
  switch (def.type) {
    case 'string': {
      const [check] = def.checks ?? [];
      const pattern = check === undefined ? null : (check as z.core.$ZodChecks)._zod.def;
      return pattern !== null && 'pattern' in pattern && pattern.pattern instanceof RegExp
        ? fc.stringMatching(pattern.pattern)
        : fc.string({ maxLength: 8 });
    }
    case 'number':
      return 'format' in def
        ? fc.integer({ min: 2, max: Number.MAX_SAFE_INTEGER })
        : fc.double({ noNaN: true, min: 0, max: 1 });
    case 'boolean':
      return fc.boolean();
    case 'literal':
      return fc.constantFrom(...def.values);
    case 'enum':
      return fc.constantFrom(...Object.values(def.entries));
    case 'nullable':
      return fc.option(accepted(def.innerType), { nil: null });
    case 'optional':
      return accepted(def.innerType);
    case 'array':
      return fc.array(accepted(def.element), { minLength: 2, maxLength: 3 });
    case 'union':
      return fc.oneof(...def.options.map(accepted));
    case 'object':
      return fc.record(Object.fromEntries(Object.entries(def.shape).map(([name, one]) => [name, accepted(one)])));
    case 'pipe':
      return accepted(def.in);
    case 'custom':
      return fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 });
    default:
      throw new Error(`a body with ${def.type} needs values here`);
  }
}

const wrongs = fc.oneof(
  fc.constantFrom<JsonValue>(null, -1, 0, 1.5, 2 ** 53, '', 'x', 'on', true, [], {}, '0'.repeat(64)),
  fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<JsonValue>,
);

/** The value with something at one place of it taken away, added or replaced. */
function changed(value: unknown, at: number, wrong: JsonValue): unknown {
  const places: (() => void)[] = [];
  const copy = structuredClone(value);
  const visit = (item: unknown): void => {
    if (typeof item !== 'object' || item === null) return;
    const record = item as Record<string, unknown>;
    for (const key of Object.keys(record)) {
      places.push(
        () => (record[key] = wrong),
        () => (Array.isArray(record) ? record.pop() : delete record[key]),
      );
      visit(record[key]);
    }
    places.push(() => (Array.isArray(record) ? record.push(wrong) : (record['another'] = wrong)));
  };
  visit(copy);
  places[at % places.length]?.();
  return copy;
}

describe('a test made from a schema says what the schema says', () => {
  test.each(Object.keys(BODIES) as EntryType[])('of the body of %s', (type) => {
    const shape: z.ZodType = BODIES[type];
    const fits = fitsOf(shape);
    let refused = 0;
    fc.assert(
      fc.property(accepted(shape), fc.option(fc.nat()), wrongs, (body, at, wrong) => {
        const value = at === null ? body : changed(body, at, wrong);
        const parsed = shape.safeParse(value);
        expect(fits(value)).toBe(parsed.success);
        if (parsed.success) expect(parsed.data).toEqual(value);
        else refused += 1;
      }),
      { numRuns: 150 },
    );
    if (type !== 'eval_report') expect(refused).toBeGreaterThan(10);
  });

  test.each<[string, z.ZodType, unknown[]]>([
    [
      'an optional field',
      z.strictObject({ a: z.string().optional(), b: z.int() }),
      [{ b: 1 }, { a: 'x', b: 1 }, { a: 1, b: 1 }, { c: 1 }],
    ],
    [
      'a field that is there or not',
      z.strictObject({ a: z.int().exactOptional() }),
      [{}, { a: 1 }, { a: 'x' }, { b: 1 }],
    ],
    ['an open object', z.looseObject({ a: z.string() }), [{ a: 'x', b: 1 }, { b: 1 }]],
    ['a transform of a number', z.string().min(2).max(3), ['a', 'ab', 'abcd']],
    ['a bound above', z.int().max(3), [3, 4]],
    ['an exclusive bound', z.number().gt(3), [3, 3.1]],
    ['a sticky pattern', z.string().regex(/a/y), ['a', 'ba', 'a']],
    ['a refinement', z.string().refine((text) => text !== 'no'), ['no', 'yes']],
    ['a record', z.record(z.string(), z.int()), [{ a: 1 }, { a: 'x' }]],
    ['a tuple', z.tuple([z.int(), z.string()]), [[1, 'x'], [1], []]],
    ['two checks', z.array(z.int()).min(1).min(2), [[1], [1, 2]]],
    ['a 32-bit integer', z.int32(), [1, 2 ** 40]],
  ])('also of %s, which no body has', (_, schema, values) => {
    const fits = fitsOf(schema);
    expect(values.map(fits)).toEqual(values.map((value) => schema.safeParse(value).success));
  });

  test('and a __proto__ or an array in place of an object fits nothing', () => {
    const fits = fitsOf(BODIES.verdict);
    expect(fits(JSON.parse('{"__proto__":{},"verdict":"pass","criteria":[],"reason":""}'))).toBe(false);
    expect(fits(Object.assign([], { verdict: 'pass', criteria: [], reason: '' }))).toBe(false);
    expect(fits({ verdict: 'pass', criteria: [], reason: '' })).toBe(true);
  });
});
