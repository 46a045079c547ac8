import { describe, expect, test } from 'vitest';
import { dollars, duration, oneLine, percent, shellWord, signed, table, usd, whole } from './format.js';

describe('money', () => {
  test.each([
    [0, '$0.00'],
    [1, '$0.000000001'],
    [1_234_000, '$0.001234'],
    [2_500_000_000, '$2.50'],
    [12_345_678_900_000_000, '$12,345,678.90'],
    [-200_000, '-$0.0002'],
  ])('%i nano-dollars read as %s: exact, with two digits at least', (nano, text) => {
    expect(usd(nano)).toBe(text);
  });

  test('an amount of a report is rounded to nano-dollars before it is said', () => {
    expect(dollars(0.1 + 0.2)).toBe('$0.30');
  });
});

test('whole numbers have their thousands apart', () => {
  expect([7, 1000, 1_234_567].map(whole)).toEqual(['7', '1,000', '1,234,567']);
});

test('a difference has its sign, and zero has none', () => {
  expect([signed(3), signed(-1500), signed(0), signed(-1 / 3, percent)]).toEqual(['+3', '-1,500', '0', '-33.3 %']);
});

test.each([
  [0, '0.0 s'],
  [9_940, '9.9 s'],
  [9_960, '10 s'],
  [59_600, '1 min'],
  [125_000, '2 min 5 s'],
  [3_600_000, '1 h'],
  [7_260_000, '2 h 1 min'],
])('%i ms are %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test('a table aligns its columns and leaves no white space at the ends of lines', () => {
  expect(
    table(
      [
        ['a', '1', ''],
        ['bbb', '22', 'x'],
      ],
      ['left', 'right'],
    ),
  ).toEqual(['a     1', 'bbb  22  x']);
});

test('text of an agent cannot move the cursor, colour the terminal or break a line', () => {
  expect(oneLine('a\u001b[2Jb\r\nc\u202ed')).toBe('a [2Jb c d');
  expect(oneLine('abcdef', 4)).toBe('abc…');
});

test('a path that a shell would split or expand is quoted in the commands that are suggested', () => {
  expect([shellWord('runs/a.db'), shellWord('my runs/$a.db'), shellWord("it's.db")]).toEqual([
    'runs/a.db',
    "'my runs/$a.db'",
    "'it'\\''s.db'",
  ]);
});
