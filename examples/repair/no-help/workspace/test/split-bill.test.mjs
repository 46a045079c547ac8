import assert from 'node:assert/strict';
import test from 'node:test';
import { splitBill, withTip } from '../modules/split-bill.mjs';

test('equal shares', () => {
  assert.deepEqual(splitBill(900, 3), [300, 300, 300]);
});
test('the first pays the rest', () => {
  assert.deepEqual(splitBill(1000, 3), [334, 333, 333]);
  assert.deepEqual(splitBill(1001, 3), [335, 333, 333]);
});
test('a tip is on top', () => {
  assert.equal(withTip(2000, 10), 2200);
  assert.equal(withTip(2000, 0), 2000);
});
