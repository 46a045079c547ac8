import assert from 'node:assert/strict';
import test from 'node:test';
import { formatDuration, parseDuration } from '../modules/duration.mjs';

test('minutes and seconds', () => {
  assert.equal(formatDuration(125), '2:05');
  assert.equal(formatDuration(0), '0:00');
  assert.equal(formatDuration(50), '0:50');
});
test('hours appear when there are any', () => {
  assert.equal(formatDuration(3600), '1:00:00');
  assert.equal(formatDuration(7384), '2:03:04');
});
test('fractions are dropped', () => {
  assert.equal(formatDuration(59.9), '0:59');
  assert.equal(formatDuration(3599.99), '59:59');
});
test('a duration is read back', () => {
  for (const seconds of [0, 7, 61, 3600, 9999]) assert.equal(parseDuration(formatDuration(seconds)), seconds);
});
