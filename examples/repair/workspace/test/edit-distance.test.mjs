import assert from 'node:assert/strict';
import test from 'node:test';
import { editDistance } from '../modules/edit-distance.mjs';

test('a text is at no distance from itself', () => {
  assert.equal(editDistance('ledger', 'ledger'), 0);
});
test('an empty text is as far as the other is long', () => {
  assert.equal(editDistance('', 'abc'), 3);
  assert.equal(editDistance('abcd', ''), 4);
});
test('each kind of edit costs one', () => {
  assert.equal(editDistance('cat', 'cut'), 1);
  assert.equal(editDistance('cat', 'cart'), 1);
  assert.equal(editDistance('cart', 'car'), 1);
  assert.equal(editDistance('art', 'cart'), 1);
});
test('edits add up', () => {
  assert.equal(editDistance('kitten', 'sitting'), 3);
  assert.equal(editDistance('flaw', 'lawn'), 2);
});
