import assert from 'node:assert/strict';
import test from 'node:test';
import { first, timeIn } from '../modules/zones.mjs';

test('east is later', () => {
  assert.equal(timeIn('berlin', 600, 'london'), 660);
  assert.equal(timeIn('delhi', 0, 'berlin'), 270);
});
test('west is earlier', () => {
  assert.equal(timeIn('toronto', 600, 'london'), 300);
  assert.equal(timeIn('chicago', 60, 'caracas'), 1380);
});
test('the day ends at midnight', () => {
  assert.equal(timeIn('tokyo', 1300, 'dubai'), 160);
});
test('the sun rises in the east', () => {
  assert.equal(first('tokyo', 'delhi'), 'tokyo');
  assert.equal(first('denver', 'chicago'), 'chicago');
});
