import assert from 'node:assert/strict';
import test from 'node:test';
import { dozens } from '../modules/dozen.mjs';

test('dozens are counted', () => {
  assert.deepEqual(dozens(24), { dozens: 2, left: 0 });
  assert.deepEqual(dozens(30), { dozens: 2, left: 6 });
  assert.deepEqual(dozens(5), { dozens: 0, left: 5 });
});
