import assert from 'node:assert/strict';
import test from 'node:test';
import { median, trimmedMean } from '../modules/median.mjs';

test('an odd number of values has one in the middle', () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([4]), 4);
});
test('an even number of values has two in the middle', () => {
  assert.equal(median([1, 2, 10, 40]), 6);
  assert.equal(median([10, 2]), 6);
});
test('nothing has no middle', () => {
  assert.equal(median([]), null);
});
test('the ends are left out of a trimmed mean', () => {
  assert.equal(trimmedMean([100, 1, 2, 3, -50], 1), 2);
  assert.equal(trimmedMean([4, 8], 0), 6);
});
