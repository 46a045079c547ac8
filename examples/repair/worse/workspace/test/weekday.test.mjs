import assert from 'node:assert/strict';
import test from 'node:test';
import { weekdayAfter } from '../modules/weekday.mjs';

test('weeks come round', () => {
  assert.equal(weekdayAfter(0, 7), 0);
  assert.equal(weekdayAfter(3, 10), 6);
  assert.equal(weekdayAfter(6, 1), 0);
});
