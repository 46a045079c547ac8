import { describe, expect, test } from 'vitest';
import type { ChildRunId } from '#lib/ledger';
import { Slots } from './slots.js';

const [a, b, c] = ['a', 'b', 'c'] as ChildRunId[] as [ChildRunId, ChildRunId, ChildRunId];

describe('slots', () => {
  test('are given in the order of asking, and no more than there are', () => {
    const slots = new Slots(1);
    const given: string[] = [];
    for (const child of [a, b, c]) slots.take(child, () => given.push(child));
    expect(given).toEqual(['a']);
    slots.release(a);
    expect(given).toEqual(['a', 'b']);
    expect(slots.inUse).toBe(1);
    slots.release(b);
    slots.release(c);
    expect(given).toEqual(['a', 'b', 'c']);
    expect(slots.inUse).toBe(0);
  });

  test('are kept by who asks again, and a run that left the queue is passed over', () => {
    const slots = new Slots(1);
    const given: string[] = [];
    slots.take(a, () => given.push('a'));
    slots.take(a, () => given.push('a again'));
    slots.take(b, () => given.push('b'));
    slots.take(c, () => given.push('c'));
    slots.release(b);
    slots.release(a);
    expect(given).toEqual(['a', 'a again', 'c']);
  });
});
