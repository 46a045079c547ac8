import assert from 'node:assert/strict';
import test from 'node:test';
import { compare, inCaret } from '../modules/semver.mjs';

test('numbers are compared as numbers, from the left', () => {
  assert.deepEqual(['1.10.0', '1.2.0', '0.9.9', '1.2.10'].sort(compare), ['0.9.9', '1.2.0', '1.2.10', '1.10.0']);
});
test('a version is the same as itself', () => {
  assert.equal(compare('3.1.4', '3.1.4'), 0);
});
test('a caret range holds its base and what is newer', () => {
  assert.equal(inCaret('1.2.3', '1.2.3'), true);
  assert.equal(inCaret('1.9.0', '1.2.3'), true);
  assert.equal(inCaret('1.2.2', '1.2.3'), false);
});
test('a caret range ends before the next major version', () => {
  assert.equal(inCaret('2.0.0', '1.2.3'), false);
  assert.equal(inCaret('2.0.0', '2.0.0'), true);
});
test('below one, the minor version is the leftmost', () => {
  assert.equal(inCaret('0.3.9', '0.3.1'), true);
  assert.equal(inCaret('0.4.0', '0.3.1'), false);
});
