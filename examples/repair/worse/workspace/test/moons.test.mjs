import assert from 'node:assert/strict';
import test from 'node:test';
import { richer, years } from '../modules/moons.mjs';

test('full years are counted', () => {
  assert.equal(years('earth', 729), 1);
  assert.equal(years('mercury', 880), 10);
});
test('planets with more moons, most first', () => {
  assert.deepEqual(richer('neptune'), ['saturn', 'jupiter', 'uranus']);
  assert.deepEqual(richer('saturn'), []);
});
test('pluto is not a planet', () => {
  assert.deepEqual(richer('haumea'), ['saturn', 'jupiter', 'uranus', 'neptune']);
});
