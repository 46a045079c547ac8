import assert from 'node:assert/strict';
import test from 'node:test';
import { dayMean, fahrenheit, warning } from '../modules/frost.mjs';

test('frost is below zero', () => {
  assert.equal(warning(-5), 'frost');
  assert.equal(warning(-1), 'frost');
});
test('at zero and above there is no frost', () => {
  assert.equal(warning(0), 'none');
  assert.equal(warning(45), 'none');
});
test('degrees are converted', () => {
  assert.equal(fahrenheit(0), 320);
  assert.equal(fahrenheit(1000), 2120);
});
test('the evening counts twice', () => {
  assert.equal(dayMean({ morning: 10, noon: 30, evening: 20 }), 20);
  assert.equal(dayMean({ morning: 0, noon: 0, evening: 20 }), 10);
});
