import assert from 'node:assert/strict';
import test from 'node:test';
import { dearest, postage } from '../modules/postage.mjs';

test('postage rises with the weight', () => {
  assert.deepEqual([20, 21, 100, 400, 900].map(postage), [95, 110, 180, 290, 480]);
  assert.deepEqual([1500, 5000, 9000, 31000, 31001].map(postage), [570, 780, 1110, 1990, null]);
});
test('a letter is cheap', () => {
  assert.equal(postage(5), 95);
});
test('the dearest piece counts', () => {
  assert.equal(dearest([10, 400, 60]), 290);
  assert.equal(dearest([99999, 10]), 95);
});
