import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toHex, utf8 } from './bytes.js';
import { isPlainlyCanonical } from './canonical-scan.js';
import { canonicalJson, type JsonValue, MAX_JSON_DEPTH, parseCanonicalJson } from './jcs.js';
import { vectorBytes, vectorJson, vectorText } from './vectors.testkit.js';

const notJson = expect.objectContaining({ name: 'LedgerError', code: 'not_json' });
const notCanonical = expect.objectContaining({ name: 'LedgerError', code: 'payload_not_canonical' });

function nested(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels);
}

describe('canonicalJson writes RFC 8785', () => {
  test.each(['arrays', 'french', 'structures', 'unicode', 'values', 'weird'])('of the published example %s', (name) => {
    const text = canonicalJson(vectorJson(`jcs/input/${name}.json`), 'any');
    expect(utf8(text)).toEqual(vectorBytes(`jcs/output/${name}.json`));
    expect(toHex(utf8(text))).toBe(vectorText(`jcs/outhex/${name}.txt`).replaceAll(/\s/g, ''));
  });

  test('of all 2,000 published numbers, and refuses by default exactly those past 2^53-1', () => {
    const lines = vectorText('jcs/es6_numbers_2000.csv').trim().split('\n');
    expect(lines).toHaveLength(2000);
    let refused = 0;
    for (const line of lines) {
      const [hex = '', expected] = line.split(',');
      const view = new DataView(new ArrayBuffer(8));
      view.setBigUint64(0, BigInt(`0x${hex}`));
      const value = view.getFloat64(0);
      expect(canonicalJson(value, 'any')).toBe(expected);
      if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
        refused++;
        expect(() => canonicalJson(value)).toThrow(notJson);
      } else {
        expect(canonicalJson(value)).toBe(expected);
      }
    }
    expect(refused).toBe(23);
  });

  test('as the package canonicalize does, whatever the order of the keys, and reads it back', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, noUnicodeString: false }), (value) => {
        const text = canonicalJson(value, 'any');
        expect(text).toBe(canonicalize(value));
        expect(canonicalJson(JSON.parse(text), 'any')).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  test('with keys in the order of UTF-16 code units, numbers among them', () => {
    const keys = ['\u{1f600}', '\ufb33', '10', '2', 'b', 'a', '', '__proto__', 'é'];
    const value = JSON.parse(`{${keys.map((key) => `${JSON.stringify(key)}:1`).join(',')}}`);
    expect(canonicalJson(value)).toBe('{"":1,"10":1,"2":1,"__proto__":1,"a":1,"b":1,"é":1,"\u{1f600}":1,"\ufb33":1}');
  });
});

describe('canonicalJson refuses what JSON cannot say', () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['an undefined member', { a: undefined }],
    ['an undefined member out of order', { b: 1, a: undefined }],
    ['a hole', Object.assign([], { length: 1 })],
    ['NaN', [Number.NaN]],
    ['infinity', { a: Number.NEGATIVE_INFINITY }],
    ['a bigint', 1n],
    ['a function', { toJSON: () => 1 }],
    ['a symbol', [Symbol('x')]],
    ['a date', new Date(0)],
    ['a map', { a: new Map() }],
    ['bytes', Uint8Array.of(1)],
    ['a boxed number', Object(1)],
    ['a lone surrogate', ['\ud800']],
    ['a lone surrogate in an escaped text', ['"\udc00']],
    ['a lone surrogate in a key', { '\ud800': 1 }],
    ['2^53', 2 ** 53],
    ['-2^53', -(2 ** 53)],
    ['a cycle', cycle],
    ['65 levels', JSON.parse(nested(MAX_JSON_DEPTH + 1))],
  ])('%s', (_, value) => {
    expect(() => canonicalJson(value)).toThrow(notJson);
  });
});

describe('parseCanonicalJson', () => {
  test.each([
    'null',
    'true',
    '0',
    '-1',
    '9007199254740991',
    '1e-7',
    '""',
    '"\\n\\u0001é"',
    '[]',
    '{}',
    '{"10":1,"2":[{"a":null}]}',
    nested(64),
  ])('reads %s', (text) => {
    expect(parseCanonicalJson(utf8(text))).toEqual(JSON.parse(text));
  });

  test.each([
    ['a duplicate key', '{"a":1,"a":1}'],
    ['a duplicate key under an escape', '{"a":1,"\\u0061":1}'],
    ['minus zero', '-0'],
    ['a fraction of zero', '1.0'],
    ['an exponent', '1e2'],
    ['2^53', '9007199254740992'],
    ['2^53+1', '9007199254740993'],
    ['1e+21', '1e+21'],
    ['an overflow', '1e999'],
    ['a space', '{"a": 1}'],
    ['a leading line break', '\n1'],
    ['a trailing line break', '1\n'],
    ['a byte order mark', '\ufeff1'],
    ['a needless escape', '"\\u0061"'],
    ['an escaped slash', '"\\/"'],
    ['upper case hex', '"\\u001F"'],
    ['an escaped lone surrogate', '"\\ud800"'],
    ['an escaped pair', '"\\ud83d\\ude00"'],
    ['keys out of order', '{"b":1,"a":1}'],
    ['number keys in numeric order', '{"2":1,"10":1}'],
    ['a second value', '1 1'],
    ['nothing', ''],
    ['65 levels', nested(65)],
    ['a hundred thousand levels', nested(100_000)],
  ])('refuses %s', (_, text) => {
    expect(() => parseCanonicalJson(utf8(text))).toThrow(notCanonical);
  });

  test('refuses bytes that are not UTF-8', () => {
    expect(() => parseCanonicalJson(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(notCanonical);
    expect(() => parseCanonicalJson(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22))).toThrow(notCanonical);
  });

  test('tells a composed letter from its decomposed form', () => {
    expect(parseCanonicalJson(utf8('"é"'))).not.toBe(parseCanonicalJson(utf8('"e\u0301"')));
  });

  test('keeps a __proto__ key as data and changes no prototype', () => {
    const value = parseCanonicalJson(utf8('{"__proto__":{"admin":true}}'));
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(canonicalJson(value)).toBe('{"__proto__":{"admin":true}}');
  });

  test('refuses more bytes than allowed', () => {
    expect(parseCanonicalJson(utf8('[1]'), 3)).toEqual([1]);
    expect(() => parseCanonicalJson(utf8('[1]'), 2)).toThrow(notCanonical);
  });

  test('reads all that canonicalJson writes, and nothing that differs from it in one byte is read as the same value', () => {
    const values = fc.jsonValue({ maxDepth: 4, noUnicodeString: false });
    fc.assert(
      fc.property(values, fc.nat(), fc.integer({ min: 1, max: 255 }), (generated, at, flip) => {
        const value = withinExact(generated as JsonValue);
        const bytes = utf8(canonicalJson(value));
        const read = parseCanonicalJson(bytes);
        expect(canonicalJson(read)).toBe(canonicalJson(value));
        const changed = Uint8Array.from(bytes);
        changed[at % bytes.length] = (changed[at % bytes.length] ?? 0) ^ flip;
        try {
          expect(canonicalJson(parseCanonicalJson(changed))).not.toBe(canonicalJson(value));
        } catch (error) {
          expect(error).toEqual(notCanonical);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('what one look at the bytes calls canonical', () => {
  test.each<[boolean, string]>([
    [true, '{"a":[1,-20,{"b":null,"c":true,"d":false}],"ab":"é, \u007f: {","b":[]}'],
    [true, '999999999999999'],
    [false, '1000000000000000'],
    [false, '-0'],
    [false, '[1,-0]'],
    [false, '1.5'],
    [false, '1e5'],
    [false, '[1e5]'],
    [false, '{"a":1,"a":1}'],
    [false, '{"ab":1,"a":1}'],
    [false, '{"b":{"z":1},"a":1}'],
    [false, '{"a":1, "b":1}'],
    [false, '{"é":1}'],
    [false, '"\\n"'],
    [false, nested(65)],
    [true, nested(64)],
  ])('%s: %s', (expected, text) => {
    expect(isPlainlyCanonical(utf8(text))).toBe(expected);
  });

  test('is what its own canonical text says, however a text was changed', () => {
    const insertions = fc.constantFrom(...'{}[]:,"-0123456789.eE \\atrue\u0000é', '"a":1,', ',"b":[]', 'null');
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat(2), insertions), { maxLength: 3 });
    let accepted = 0;
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), changes, (value, edits) => {
        let text = canonicalJson(withinExact(value as JsonValue));
        for (const [at, remove, insert] of edits) {
          const from = at % (text.length + 1);
          text = text.slice(0, from) + insert + text.slice(from + remove);
        }
        if (!text.isWellFormed()) return;
        const bytes = utf8(text);
        const isCanonical = isOwnForm(text);
        if (isCanonical) accepted += 1;
        else {
          expect(isJson(text) && isPlainlyCanonical(bytes)).toBe(false);
          expect(() => parseCanonicalJson(bytes)).toThrow(notCanonical);
          return;
        }
        expect(parseCanonicalJson(bytes)).toEqual(JSON.parse(text));
      }),
      { numRuns: 4000 },
    );
    expect(accepted).toBeGreaterThan(300);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isOwnForm(text: string): boolean {
  try {
    return canonicalJson(JSON.parse(text)) === text;
  } catch {
    return false;
  }
}

/** The value with numbers past 2^53-1 replaced, which the ledger cannot write. */
function withinExact(value: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(value), (_, item) =>
    typeof item === 'number' && Math.abs(item) > Number.MAX_SAFE_INTEGER ? 1 : item,
  );
}
