import assert from 'node:assert/strict';
import test from 'node:test';
import { lruCache } from '../modules/lru-cache.mjs';

const filled = (capacity, keys) => {
  const cache = lruCache(capacity);
  for (const key of keys) cache.set(key, key.toUpperCase());
  return cache;
};

test('a cache holds as much as it may', () => {
  assert.deepEqual(filled(3, ['a', 'b', 'c']).keys(), ['a', 'b', 'c']);
});
test('the oldest goes first', () => {
  assert.deepEqual(filled(2, ['a', 'b', 'c']).keys(), ['b', 'c']);
});
test('what was read stays', () => {
  const cache = filled(2, ['a', 'b']);
  assert.equal(cache.get('a'), 'A');
  cache.set('c', 'C');
  assert.deepEqual(cache.keys(), ['a', 'c']);
});
test('hits and misses are counted', () => {
  const cache = filled(4, ['a', 'b']);
  assert.equal(cache.hitRate(), 0);
  assert.deepEqual(
    ['a', 'b', 'x', 'a'].map((key) => cache.get(key)),
    ['A', 'B', undefined, 'A'],
  );
  assert.equal(cache.hitRate(), 0.75);
});
