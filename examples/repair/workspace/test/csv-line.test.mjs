import assert from 'node:assert/strict';
import test from 'node:test';
import { parseLine } from '../modules/csv-line.mjs';

test('plain fields are split', () => {
  assert.deepEqual(parseLine('a,b,,d'), ['a', 'b', '', 'd']);
});
test('a quoted field may hold the separator', () => {
  assert.deepEqual(parseLine('a,"b,c",d'), ['a', 'b,c', 'd']);
});
test('a doubled quote is a quote', () => {
  assert.deepEqual(parseLine('"say ""hi""",b'), ['say "hi"', 'b']);
});
test('quoted fields may stand side by side', () => {
  assert.deepEqual(parseLine('"a","b"'), ['a', 'b']);
});
test('an empty quoted field is empty', () => {
  assert.deepEqual(parseLine('x;"";y', ';'), ['x', '', 'y']);
});
