import assert from 'node:assert/strict';
import test from 'node:test';
import { insert, search } from '../modules/binary-search.mjs';

test('every value of a list is found', () => {
  const list = [2, 3, 5, 7, 11, 13];
  for (const [at, value] of list.entries()) assert.deepEqual(search(list, value), { found: true, at });
});
test('a list of one is searched', () => {
  assert.deepEqual(search([4], 4), { found: true, at: 0 });
});
test('a missing value has a place to go', () => {
  assert.deepEqual(search([1, 3, 5], 4), { found: false, at: 2 });
  assert.deepEqual(search([1, 3, 5], 9), { found: false, at: 3 });
  assert.deepEqual(search([], 9), { found: false, at: 0 });
});
test('inserting keeps the order and adds nothing twice', () => {
  assert.deepEqual(insert([1, 3, 5], 4), [1, 3, 4, 5]);
  assert.deepEqual(insert([1, 3, 5], 0), [0, 1, 3, 5]);
  assert.deepEqual(insert([1, 3, 5], 5), [1, 3, 5]);
});
