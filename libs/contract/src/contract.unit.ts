import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matchText } from './match.js';
import { nanoUsd } from './shapes.js';
import { contractWith } from './smallest.testkit.js';
import { nearest } from './table.js';
import { renderCase } from './template.js';
import { locate, parseToml } from './toml.js';
import type { Case, Criterion } from './types.js';
import { isProtected } from './workspace.js';

const contract = contractWith({
  instructions: 'Subject: {{ inputs.subject }} / {{expected.label}} / {{ matrix.os }}',
  agent: { kind: 'fixed', answer: '{{inputs.subject}}', file: 'answer.txt' },
  criteria: [],
});
const row = (inputs: Case['inputs'], expected: Case['expected'] = {}): Case => ({
  id: 'a',
  family: null,
  inputs,
  expected,
});

describe('a case filled in', () => {
  test('reaches the agent with its inputs and without what is expected', () => {
    const { instructions, agent } = renderCase(contract, row({ subject: 'Hi' }, { label: 'spam' }));
    expect(instructions).toBe('Subject: Hi / {{expected.label}} / {{ matrix.os }}');
    expect(agent).toEqual({ kind: 'fixed', answer: 'Hi', file: 'answer.txt' });
  });

  test('inserts a value once: a placeholder or a replacement pattern in it stays as it is', () => {
    const value = "{{inputs.other}} {{expected.label}} $& $1 $' $$";
    expect(renderCase(contract, row({ subject: value, other: 'x' }, { label: 'y' })).agent).toMatchObject({
      answer: value,
    });
  });

  test('takes nothing from the prototype of a case', () => {
    const odd = { ...contract, instructions: '{{inputs.constructor}} {{inputs.toString}}' };
    expect(renderCase(odd, row({})).instructions).toBe('{{inputs.constructor}} {{inputs.toString}}');
  });

  test('writes what is not a string as canonical JSON', () => {
    expect(renderCase(contract, row({ subject: { b: [1, null], a: true } })).agent).toMatchObject({
      answer: '{"a":true,"b":[1,null]}',
    });
  });

  test('fills criteria with inputs and expected values', () => {
    const criteria: Criterion[] = [
      { id: '1', kind: 'command', run: ['node', '{{inputs.f}}'], timeout_ms: 1 },
      { id: '2', kind: 'match', file: '{{inputs.f}}', equals: '{{expected.label}}' },
      { id: '3', kind: 'review', question: '{{inputs.f}} or {{expected.label}}?' },
    ];
    expect(renderCase({ ...contract, criteria }, row({ f: 'a.js' }, { label: 'spam' })).criteria).toEqual([
      { id: '1', kind: 'command', run: ['node', 'a.js'], timeout_ms: 1 },
      { id: '2', kind: 'match', file: 'a.js', equals: 'spam' },
      { id: '3', kind: 'review', question: 'a.js or spam?' },
    ]);
  });

  test('puts any value into a pattern as itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (value, other) => {
        const criteria: Criterion[] = [{ id: '1', kind: 'match', file: 'f', regex: '^{{expected.v}}$' }];
        const [rendered] = renderCase({ ...contract, criteria }, row({}, { v: value })).criteria;
        if (rendered?.kind !== 'match') throw new Error('no match criterion');
        expect(matchText(rendered, value).matched).toBe(true);
        if (other !== value) expect(matchText(rendered, other).matched).toBe(false);
      }),
    );
  });
});

describe('a match', () => {
  const base = { id: 'm', kind: 'match' as const, file: 'f' };
  test('of equals ignores white space around and nothing else', () => {
    expect(matchText({ ...base, equals: ' spam\n' }, '\tspam ')).toEqual({ matched: true });
    expect(matchText({ ...base, equals: 'spam' }, 'Spam').matched).toBe(false);
    expect(matchText({ ...base, equals: 'a b' }, 'a  b').matched).toBe(false);
  });

  test('of a JSON schema says where the value does not fit', () => {
    const json_schema = {
      type: 'object',
      properties: { n: { type: 'integer' } },
      required: ['n'],
      additionalProperties: false,
    };
    expect(matchText({ ...base, json_schema }, '{"n": 1}')).toEqual({ matched: true });
    expect(matchText({ ...base, json_schema }, '{"n": 1.5}')).toEqual({ matched: false, reason: '/n must be integer' });
    expect(matchText({ ...base, json_schema }, '{}').matched).toBe(false);
    expect(matchText({ ...base, json_schema }, 'n: 1')).toEqual({ matched: false, reason: 'the text is not JSON' });
  });
});

describe('dollars become nano-dollars exactly', () => {
  test.for([
    ['0.1', 100_000_000],
    ['0.3', 300_000_000],
    ['1.005', 1_005_000_000],
    ['0.000000001', 1],
    ['1_000.50', 1_000_500_000_000],
    ['2e-3', 2_000_000],
    ['1.5E+2', 150_000_000_000],
    ['8999999.999999999', 8_999_999_999_999_999],
    ['0.10000000000000', 100_000_000],
    ['0.0000000001', null],
    ['9000000.000000001', null],
    ['-1', null],
    ['nan', null],
    ['0x10', null],
  ] as const)('%s', ([written, nano]) => {
    expect(nanoUsd(written)).toBe(nano);
  });

  test('for every amount of whole nano-dollars', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER - 1e7 }), (nano) => {
        const digits = String(nano).padStart(10, '0');
        expect(nanoUsd(`${digits.slice(0, -9)}.${digits.slice(-9)}`)).toBe(nano <= 9e15 ? nano : null);
      }),
    );
  });
});

describe('a protected pattern', () => {
  const guarded = {
    ...contract,
    workspace: { ...contract.workspace, protected: ['test/**', '*.config.js', '.github', 'fixed'] },
  };
  test.for([
    ['test/a.js', true],
    ['test/deep/er/a.js', true],
    ['test/.hidden', true],
    ['test/.dir/a', true],
    ['.x.config.js', true],
    ['a.config.js', true],
    ['.github/workflows/ci.yml', true],
    ['fixed', true],
    ['fixed/a', true],
    ['src/test/a.js', false],
    ['testing/a.js', false],
    ['src/a.config.js', false],
  ] as const)('on %s: %s', ([path, expected]) => {
    expect(isProtected(guarded, path)).toBe(expected);
  });
});

describe('TOML with places', () => {
  test('finds dotted keys, nested tables and lists of tables where they are written', () => {
    const root = parseToml('a.b = 1\n[[c]]\nq = { x = [1, 22] }\n[c.d]\n"f g" = 1.50\n[[c]]\nq = 3\n', 'f');
    expect(locate(root, 'a', 'b')).toEqual({ file: 'f', line: 1, column: 7 });
    expect(locate(root, 'c', 0, 'q', 'x', 1)).toEqual({ file: 'f', line: 3, column: 15 });
    expect(locate(root, 'c', 0, 'd', 'f g')).toEqual({ file: 'f', line: 5, column: 9 });
    expect(locate(root, 'c', 1, 'q')).toEqual({ file: 'f', line: 7, column: 5 });
    expect(locate(root, 'c', 1, 'absent')).toEqual({ file: 'f', line: 6, column: 1 });
  });
});

test('the nearest name is one that a slip of the pen explains, or none', () => {
  expect(nearest('max_step', ['max_steps', 'timeout'])).toBe('max_steps');
  expect(nearest('Timeout', ['max_steps', 'timeout'])).toBe('timeout');
  expect(nearest('colour', ['max_steps', 'timeout'])).toBeNull();
  expect(nearest('a', ['b'])).toBeNull();
});
