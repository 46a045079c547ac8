import assert from 'node:assert/strict';
import test from 'node:test';
import { retry, waits } from '../modules/retry.mjs';

test('there is one wait less than attempts', () => {
  assert.deepEqual(waits({ attempts: 4, base: 100, cap: 1000 }), [100, 200, 400]);
  assert.deepEqual(waits({ attempts: 1, base: 100, cap: 1000 }), []);
});
test('waits stop growing at the cap', () => {
  assert.deepEqual(waits({ attempts: 5, base: 100, cap: 300 }), [100, 200, 300, 300]);
});
test('a call that works is not repeated', () => {
  assert.deepEqual(
    retry(() => 'ok', 3),
    { value: 'ok', attempts: 1 },
  );
});
test('a call may fail until the last attempt', () => {
  const call = (attempt) => {
    if (attempt < 3) throw new Error(`no ${attempt}`);
    return attempt;
  };
  assert.deepEqual(retry(call, 3), { value: 3, attempts: 3 });
  assert.throws(() => retry(call, 2), /no 2/);
});
test('a fatal error is thrown at once', () => {
  assert.throws(
    () =>
      retry((attempt) => {
        throw Object.assign(new Error(`fatal ${attempt}`), { fatal: true });
      }, 5),
    /fatal 1/,
  );
});
