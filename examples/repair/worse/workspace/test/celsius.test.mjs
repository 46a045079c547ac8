import assert from 'node:assert/strict';
import test from 'node:test';
import { celsius } from '../modules/celsius.mjs';

test('water freezes and boils', () => {
  assert.equal(celsius(32), 0);
  assert.equal(celsius(212), 100);
  assert.equal(celsius(-40), -40);
});
