import assert from 'node:assert/strict';
import test from 'node:test';
import { daysBetween, isWeekend } from '../modules/date-range.mjs';

test('the last day is part of the range', () => {
  assert.deepEqual(daysBetween('2024-02-28', '2024-03-01'), ['2024-02-28', '2024-02-29', '2024-03-01']);
});
test('a range of one day has that day', () => {
  assert.deepEqual(daysBetween('2025-01-05', '2025-01-05'), ['2025-01-05']);
});
test('a range that ends before it begins is empty', () => {
  assert.deepEqual(daysBetween('2025-01-05', '2025-01-04'), []);
});
test('steps are kept over the end of a month', () => {
  assert.deepEqual(daysBetween('2025-01-30', '2025-02-04', 2), ['2025-01-30', '2025-02-01', '2025-02-03']);
});
test('weekends are Saturday and Sunday', () => {
  assert.deepEqual(daysBetween('2025-08-01', '2025-08-04').map(isWeekend), [false, true, true, false]);
});
