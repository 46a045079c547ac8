import assert from 'node:assert/strict';
import test from 'node:test';
import { fromRoman, isRoman } from '../modules/roman.mjs';

test('letters add up', () => {
  assert.equal(fromRoman('XVI'), 16);
  assert.equal(fromRoman('MDCLXVI'), 1666);
});
test('equal letters add up', () => {
  assert.equal(fromRoman('III'), 3);
  assert.equal(fromRoman('CCXX'), 220);
});
test('a smaller letter in front is taken away', () => {
  assert.equal(fromRoman('IV'), 4);
  assert.equal(fromRoman('MCMXCIV'), 1994);
});
test('other letters make no numeral', () => {
  assert.equal(isRoman('XQ'), false);
  assert.equal(isRoman(''), false);
  assert.equal(isRoman('X'), true);
});
