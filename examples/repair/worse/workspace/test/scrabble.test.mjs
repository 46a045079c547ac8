import assert from 'node:assert/strict';
import test from 'node:test';
import { best, wordPoints } from '../modules/scrabble.mjs';

test('every letter counts', () => {
  assert.equal(wordPoints('abcdefghijklmnopqrstuvwxyz'), 87);
  assert.equal(wordPoints('Quiz'), 22);
});
test('other signs count nothing', () => {
  assert.equal(wordPoints("don't"), 5);
});
test('the best word is found', () => {
  assert.equal(best(['cat', 'quiz', 'dog']), 'quiz');
  assert.equal(best(['a', 'e']), 'a');
});
