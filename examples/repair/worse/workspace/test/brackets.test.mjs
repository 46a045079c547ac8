import assert from 'node:assert/strict';
import test from 'node:test';
import { pays, tax } from '../modules/brackets.mjs';

test('small incomes are free', () => {
  assert.equal(tax(8000), 0);
});
test('each bracket taxes its own part', () => {
  assert.equal(tax(12000), 280);
  assert.equal(tax(20000), 1640);
  assert.equal(tax(30000), 3880);
  assert.equal(tax(300000), 112580);
});
test('who pays', () => {
  assert.equal(pays(20000, 'no'), true);
  assert.equal(pays(20000, 'yes'), false);
  assert.equal(pays(5000, 'no'), false);
});
