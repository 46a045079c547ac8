import assert from 'node:assert/strict';
import test from 'node:test';
import { leaderboard, points } from '../modules/leaderboard.mjs';

const names = (...rows) => leaderboard(rows.map(([name, points]) => ({ name, points }))).map(({ name }) => name);

test('most points first', () => {
  assert.deepEqual(names(['ann', 1], ['bob', 5], ['cy', 3]), ['bob', 'cy', 'ann']);
});
test('the same points by name', () => {
  assert.deepEqual(names(['cy', 2], ['ann', 2], ['bob', 7]), ['bob', 'ann', 'cy']);
});
test('wins and draws count', () => {
  assert.equal(points(['win', 'draw', 'loss', 'win']), 7);
  assert.equal(points([]), 0);
});
