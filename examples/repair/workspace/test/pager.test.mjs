import assert from 'node:assert/strict';
import test from 'node:test';
import { pageOf } from '../modules/pager.mjs';

const letters = [...'abcdefg'];

test('the first page has no previous one', () => {
  assert.deepEqual(pageOf(letters, 1, 3), { items: ['a', 'b', 'c'], page: 1, pages: 3, previous: null, next: 2 });
});
test('a page between has both neighbours', () => {
  assert.deepEqual(pageOf(letters, 2, 3), { items: ['d', 'e', 'f'], page: 2, pages: 3, previous: 1, next: 3 });
});
test('the last page may be short', () => {
  assert.deepEqual(pageOf(letters, 3, 3), { items: ['g'], page: 3, pages: 3, previous: 2, next: null });
});
test('an empty list has one empty page', () => {
  assert.deepEqual(pageOf([], 1, 5), { items: [], page: 1, pages: 1, previous: null, next: null });
});
test('pages outside are refused', () => {
  assert.throws(() => pageOf(letters, 0, 3), RangeError);
  assert.throws(() => pageOf(letters, 4, 3), RangeError);
});
