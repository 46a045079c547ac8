import assert from 'node:assert/strict';
import test from 'node:test';
import { amount, parseConfig } from '../modules/config-lines.mjs';

test('names have values', () => {
  assert.deepEqual(parseConfig('a = 1\nb=two'), { a: '1', b: 'two' });
});
test('comments are passed over', () => {
  assert.deepEqual(parseConfig('# first = no\na = 1\n# b = 2\nc = 3'), { a: '1', c: '3' });
});
test('empty lines are passed over', () => {
  assert.deepEqual(parseConfig('a = 1\n\nb = 2'), { a: '1', b: '2' });
});
test('nothing is read behind the end', () => {
  assert.deepEqual(parseConfig('a = 1\n__END__\nb = 2'), { a: '1' });
});
test('units are multiplied', () => {
  assert.deepEqual(['12', '3k', '2m'].map(amount), [12, 3000, 2000000]);
});
