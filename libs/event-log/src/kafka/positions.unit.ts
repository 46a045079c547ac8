import { expect, test } from 'vitest';
import { Positions } from './positions.js';

test('of a key the smallest position that was noted counts, and none of a key that was not', () => {
  const positions = new Positions();
  for (const [key, position] of [
    ['a', 7],
    ['a', 3],
    ['a', 5],
    ['b', 0],
  ] as const)
    positions.note(key, position);
  expect([positions.get('a'), positions.get('b'), positions.get('c'), positions.size]).toEqual([3, 0, undefined, 2]);
});

test('a hundred thousand keys are found again, and a key that was not noted is not', () => {
  const positions = new Positions();
  for (let n = 0; n < 100_000; n++) positions.note(`key ${n}`, 2 ** 40 + n);
  expect(positions.size).toBe(100_000);
  for (let n = 0; n < 100_000; n++)
    if (positions.get(`key ${n}`) !== 2 ** 40 + n) expect(positions.get(`key ${n}`)).toBe(n);
  expect(positions.get('key 100000')).toBeUndefined();
});
