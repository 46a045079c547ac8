import assert from 'node:assert/strict';
import test from 'node:test';
import { checkDigit, mask } from '../modules/mask.mjs';

test('four digits stay', () => {
  assert.equal(mask('1234567890123456'), '************3456');
  assert.equal(mask('98765'), '*8765');
});
test('four digits alone are not hidden', () => {
  assert.equal(mask('1234'), '1234');
});
test('check digits', () => {
  assert.equal(checkDigit('12345678'), 2);
  assert.equal(checkDigit('00000000'), 0);
});
