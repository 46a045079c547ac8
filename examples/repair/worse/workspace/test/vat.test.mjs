import assert from 'node:assert/strict';
import test from 'node:test';
import { vat } from '../modules/vat.mjs';

test('the tax is a share of the price', () => {
  assert.equal(vat(100), 19);
  assert.equal(vat(2000), 380);
  assert.equal(vat(0), 0);
});
