import assert from 'node:assert/strict';
import test from 'node:test';
import { flags, share } from '../modules/flags.mjs';

test('search is on from the start', () => {
  assert.deepEqual(flags([], 'no'), { search: true, export: false, beta: false });
});
test('listed features are on', () => {
  assert.deepEqual(flags(['export', 'other'], 'no'), { search: true, export: true, beta: false });
});
test('testers have beta', () => {
  assert.deepEqual(flags([], 'yes'), { search: true, export: false, beta: true });
});
test('shares are per cent', () => {
  assert.equal(share([{ a: 1 }, {}, { a: 1 }, {}], 'a'), 50);
  assert.equal(share([], 'a'), 0);
});
