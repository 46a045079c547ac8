import assert from 'node:assert/strict';
import test from 'node:test';
import { histogram } from '../modules/histogram.mjs';

test('values fall into their bins', () => {
  assert.deepEqual(histogram([1, 2, 12, 25], [0, 10, 20, 30]), { counts: [2, 1, 1], below: 0, above: 0 });
});
test('an edge belongs to the bin it opens', () => {
  assert.deepEqual(histogram([0, 10, 20], [0, 10, 20, 30]), { counts: [1, 1, 1], below: 0, above: 0 });
});
test('what is outside is counted apart', () => {
  assert.deepEqual(histogram([-1, 5, 30, 31], [0, 10, 30]), { counts: [1, 0], below: 1, above: 2 });
});
test('no values make empty bins', () => {
  assert.deepEqual(histogram([], [0, 1, 2]), { counts: [0, 0], below: 0, above: 0 });
});
