import { expect, test } from 'vitest';
import { isPart } from './attachments.js';

const MIB = 1024 * 1024;

test.each([
  ['the only part of nothing', { index: 0, count: 1, size: 0 }, true],
  ['the last part of the largest', { index: 127, count: 128, size: 64 * MIB }, true],
  ['a part of what is larger than any body', { index: 0, count: 129, size: 64 * MIB + 1 }, false],
  ['one of more parts than the size has', { index: 0, count: 4_096, size: MIB }, false],
  ['one of fewer parts than the size has', { index: 0, count: 1, size: MIB }, false],
  ['a part past the last', { index: 2, count: 2, size: MIB }, false],
  ['a part before the first', { index: -1, count: 2, size: MIB }, false],
  ['a part of a negative size', { index: 0, count: 1, size: -1 }, false],
])('%s is a part: %s', (_, part, is) => {
  expect(isPart(part)).toBe(is);
});
