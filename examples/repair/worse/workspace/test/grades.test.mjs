import assert from 'node:assert/strict';
import test from 'node:test';
import { grade, passed } from '../modules/grades.mjs';

test('grades have their limits', () => {
  assert.deepEqual(
    [100, 97, 96, 90, 85, 80, 61].map((points) => grade(points)),
    ['A+', 'A+', 'A', 'A-', 'B', 'B-', 'D-'],
  );
  assert.deepEqual(
    [55, 45, 41, 30, 25, 3].map((points) => grade(points)),
    ['E+', 'E', 'E-', 'F+', 'F', 'F-'],
  );
});
test('being late costs points', () => {
  assert.equal(grade(95, true), 'B');
  assert.equal(grade(4, true), 'F-');
});
test('every result must be good enough', () => {
  assert.equal(passed([60, 90]), true);
  assert.equal(passed([59, 90]), false);
});
