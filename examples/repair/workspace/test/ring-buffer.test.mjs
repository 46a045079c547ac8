import assert from 'node:assert/strict';
import test from 'node:test';
import { ringBuffer } from '../modules/ring-buffer.mjs';

const after = (size, ...values) => {
  const buffer = ringBuffer(size);
  for (const value of values) buffer.push(value);
  return buffer;
};

test('a new buffer is empty', () => {
  assert.deepEqual(ringBuffer(3).values(), []);
  assert.equal(ringBuffer(3).newest(), undefined);
});
test('values come back oldest first', () => {
  assert.deepEqual(after(3, 1, 2).values(), [1, 2]);
  assert.deepEqual(after(3, 1, 2, 3).values(), [1, 2, 3]);
});
test('the oldest is overwritten', () => {
  assert.deepEqual(after(3, 1, 2, 3, 4).values(), [2, 3, 4]);
  assert.deepEqual(after(2, 1, 2, 3, 4, 5).values(), [4, 5]);
});
test('the newest is known at every turn', () => {
  assert.equal(after(3, 1).newest(), 1);
  assert.equal(after(3, 1, 2, 3).newest(), 3);
  assert.equal(after(3, 1, 2, 3, 4).newest(), 4);
});
