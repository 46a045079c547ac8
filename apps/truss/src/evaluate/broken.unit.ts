import { expect, test } from 'vitest';
import { LogError } from '#lib/event-log';
import { EXIT } from '../exit-codes.js';
import { brokenBy } from './broken.js';

// As `libs/child-run` throws it; there it is no part of the public surface.
class CannotGoOn extends Error {
  override readonly name = 'CannotGoOn';
  constructor(
    readonly code: 'disk_full' | 'log_failed',
    message: string,
    cause: unknown,
  ) {
    super(message, { cause });
  }
}

const full = new LogError('log_full', 'truss.db: the disk is full');

test('a full database is a stop that can be resumed', () => {
  expect(brokenBy(full)).toEqual({ why: 'truss.db: the disk is full', exitCode: EXIT.stopped });
});

test('a run that the log failed says what happened to the log', () => {
  expect(brokenBy(new CannotGoOn('log_failed', 'the log cannot keep an attachment', full))).toEqual(brokenBy(full));
});

test('a run that the log failed by a mistake of ours is unexpected', () => {
  const mistake = new TypeError('undefined is not a function');
  expect(brokenBy(new CannotGoOn('log_failed', 'the log cannot keep an attachment', mistake))).toEqual({
    why: 'undefined is not a function',
    exitCode: EXIT.unexpected,
  });
});

test('a full temporary folder is a stop that can be resumed, with the words of the system', () => {
  const noSpace = new Error('ENOSPC: no space left on device, write');
  expect(brokenBy(new CannotGoOn('disk_full', 'no space is left: free some', noSpace))).toEqual({
    why: 'no space is left: free some (ENOSPC: no space left on device, write)',
    exitCode: EXIT.stopped,
  });
});

test('anything else is unexpected', () => {
  expect(brokenBy(new RangeError('out of range')).exitCode).toBe(EXIT.unexpected);
  expect(brokenBy('a text').exitCode).toBe(EXIT.unexpected);
});
