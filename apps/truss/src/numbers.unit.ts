import { InvalidArgumentError } from 'commander';
import { expect, test } from 'vitest';
import { decimal, nanoDollars, wholeNumber } from './numbers.js';

test.each(['0', '-1', '1.5', '', 'three', '0x10', '1e99', 'NaN', '9007199254740993'])(
  '%j is no number of repeats',
  (text) => {
    expect(() => wholeNumber(1)(text)).toThrow(InvalidArgumentError);
  },
);

test('a whole number may be written with an exponent', () => {
  expect([wholeNumber(1)('3'), wholeNumber(1)('1e9')]).toEqual([3, 1_000_000_000]);
});

test('an amount of money becomes nano-dollars by its digits', () => {
  expect(['2.5', '$20', '0.000000001', '0.1'].map(nanoDollars)).toEqual([
    2_500_000_000, 20_000_000_000, 1, 100_000_000,
  ]);
});

test.each(['0', '-1', '1e3', '0.0000000001', '', '1,5', '9999999'])('%j is no amount of money', (text) => {
  expect(() => nanoDollars(text)).toThrow(InvalidArgumentError);
});

test('a level outside of its range is refused with the range', () => {
  const alpha = decimal('a number above 0 and below 1', (a) => a > 0 && a < 1);
  expect(alpha('0.05')).toBe(0.05);
  expect(() => alpha('1')).toThrow('Expected a number above 0 and below 1.');
});
