import assert from 'node:assert/strict';
import test from 'node:test';
import { resistor, show } from '../modules/resistor.mjs';

test('bands have values', () => {
  assert.deepEqual(resistor('yellow', 'violet', 'red', 'gold'), { ohms: 4700, tolerance: 500 });
  assert.deepEqual(resistor('brown', 'black', 'black', 'brown'), { ohms: 10, tolerance: 100 });
});
test('without a fourth band it may be off by a fifth', () => {
  assert.equal(resistor('red', 'red', 'brown').tolerance, 2000);
});
test('thousands have a unit', () => {
  assert.equal(show(220), '220 Ω');
  assert.equal(show(4790), '4.7 kΩ');
  assert.equal(show(1000), '1 kΩ');
});
