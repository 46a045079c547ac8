import assert from 'node:assert/strict';
import test from 'node:test';
import { minutes } from '../modules/minutes.mjs';

test('hours have sixty minutes', () => {
  assert.equal(minutes('00:00'), 0);
  assert.equal(minutes('01:00'), 60);
  assert.equal(minutes('23:59'), 1439);
});
