import assert from 'node:assert/strict';
import test from 'node:test';
import { dayOfYear, daysIn, isLeap } from '../modules/calendar.mjs';

test('every fourth year is a leap year', () => {
  assert.deepEqual([2023, 2024, 2025, 2028].map(isLeap), [false, true, false, true]);
});
test('centuries are not, but for every fourth', () => {
  assert.deepEqual([1800, 1900, 2000, 2100].map(isLeap), [false, false, true, false]);
});
test('months have their lengths', () => {
  const lengths = Array.from({ length: 12 }, (_, i) => daysIn(i + 1, 2023));
  assert.deepEqual(lengths, [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]);
});
test('days of the year are counted from one', () => {
  assert.equal(dayOfYear(1, 1, 2023), 1);
  assert.equal(dayOfYear(1, 3, 2024), 61);
  assert.equal(dayOfYear(31, 12, 2023), 365);
});
