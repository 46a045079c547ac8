import assert from 'node:assert/strict';
import test from 'node:test';
import { center, wrap } from '../modules/word-wrap.mjs';

test('a line is filled to its width', () => {
  assert.deepEqual(wrap('one two three', 7), ['one two', 'three']);
});
test('the blank between words counts', () => {
  assert.deepEqual(wrap('one two three', 6), ['one', 'two', 'three']);
  assert.deepEqual(wrap('ab cd ef', 8), ['ab cd ef']);
});
test('a long word has a line of its own', () => {
  assert.deepEqual(wrap('a extraordinary b', 4), ['a', 'extraordinary', 'b']);
});
test('blanks make no words', () => {
  assert.deepEqual(wrap('  a   b ', 9), ['a b']);
  assert.deepEqual(wrap('', 9), []);
});
test('a text is centred', () => {
  assert.equal(center('abc', 8), '  abc');
  assert.equal(center('abcdef', 3), 'abcdef');
});
