import assert from 'node:assert/strict';
import test from 'node:test';
import { covered, mergeIntervals } from '../modules/intervals.mjs';

test('intervals that touch become one', () => {
  assert.deepEqual(
    mergeIntervals([
      [1, 3],
      [3, 5],
    ]),
    [[1, 5]],
  );
});
test('an interval inside another vanishes', () => {
  assert.deepEqual(
    mergeIntervals([
      [1, 9],
      [2, 4],
      [9, 10],
    ]),
    [[1, 10]],
  );
});
test('intervals with a gap stay apart, in order', () => {
  assert.deepEqual(
    mergeIntervals([
      [7, 8],
      [1, 2],
      [4, 5],
    ]),
    [
      [1, 2],
      [4, 5],
      [7, 8],
    ],
  );
});
test('what is covered twice counts once', () => {
  assert.equal(
    covered([
      [0, 4],
      [2, 6],
      [8, 9],
    ]),
    7,
  );
});
