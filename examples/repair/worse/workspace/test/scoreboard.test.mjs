import assert from 'node:assert/strict';
import test from 'node:test';
import { score } from '../modules/scoreboard.mjs';

test('finds add up', () => {
  assert.equal(score(['coin', 'gem', 'coin']), 700);
  assert.equal(score(['map', 'crown', 'lamp']), 2515);
});
test('a streak multiplies', () => {
  assert.equal(score(['coin', 'coin']), 300);
  assert.equal(score(['key', 'key', 'key', 'key']), 550);
});
test('a streak ends', () => {
  assert.equal(score(['coin', 'coin', 'gem', 'coin']), 900);
});
test('multipliers end at the last', () => {
  assert.equal(score(Array(12).fill('lamp')), 5 * (1 + 2 + 3 + 5 + 8 + 13 + 21 + 34 + 55 + 89 * 3));
});
