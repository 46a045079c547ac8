import assert from 'node:assert/strict';
import test from 'node:test';
import { isbn10 } from '../modules/isbn.mjs';

test('valid numbers', () => {
  assert.equal(isbn10([0, 3, 0, 6, 4, 0, 6, 1, 5, 2]), true);
  assert.equal(isbn10([3, 1, 6, 1, 4, 8, 4, 1, 0, 0]), false);
  assert.equal(isbn10([0, 3, 0, 6, 4, 0, 6, 1, 5, 3]), false);
});
