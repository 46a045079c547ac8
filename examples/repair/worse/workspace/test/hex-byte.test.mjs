import assert from 'node:assert/strict';
import test from 'node:test';
import { hexByte } from '../modules/hex-byte.mjs';

test('bytes are read', () => {
  assert.equal(hexByte('00'), 0);
  assert.equal(hexByte('ff'), 255);
  assert.equal(hexByte('1a'), 26);
});
