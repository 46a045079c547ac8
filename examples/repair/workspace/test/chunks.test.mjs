import assert from 'node:assert/strict';
import test from 'node:test';
import { chunks, groups } from '../modules/chunks.mjs';

test('chunks fit exactly', () => {
  assert.deepEqual(chunks([1, 2, 3, 4], 2), [
    [1, 2],
    [3, 4],
  ]);
});
test('a last chunk may be short', () => {
  assert.deepEqual(chunks([1, 2, 3], 2), [[1, 2], [3]]);
});
test('nothing makes no chunks', () => {
  assert.deepEqual(chunks([], 2), []);
});
test('groups differ by one at most', () => {
  assert.deepEqual(groups([1, 2, 3, 4, 5, 6, 7], 3), [
    [1, 2, 3],
    [4, 5],
    [6, 7],
  ]);
});
test('there may be more groups than items', () => {
  assert.deepEqual(groups([1], 3), [[1], [], []]);
});
