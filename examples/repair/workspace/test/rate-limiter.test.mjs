import assert from 'node:assert/strict';
import test from 'node:test';
import { rateLimiter } from '../modules/rate-limiter.mjs';

const answers = (limiter, ...times) => times.map((time) => limiter.allow(time));

test('a burst is let through and then refused', () => {
  assert.deepEqual(answers(rateLimiter({ burst: 3, perSecond: 1 }), 0, 0, 0, 0), [true, true, true, false]);
});
test('a bucket of one lets one call through', () => {
  assert.deepEqual(answers(rateLimiter({ burst: 1, perSecond: 2 }), 0, 100, 600), [true, false, true]);
});
test('a bucket never holds more than its burst', () => {
  assert.deepEqual(answers(rateLimiter({ burst: 2, perSecond: 1 }), 9000, 9000, 9000), [true, true, false]);
});
test('the wait is what one call needs', () => {
  const limiter = rateLimiter({ burst: 1, perSecond: 4 });
  assert.equal(limiter.waitMs(), 0);
  limiter.allow(0);
  assert.equal(limiter.waitMs(), 250);
});
