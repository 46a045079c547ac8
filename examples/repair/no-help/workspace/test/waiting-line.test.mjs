import assert from 'node:assert/strict';
import test from 'node:test';
import { waitingLine } from '../modules/waiting-line.mjs';

const line = (...names) => {
  const made = waitingLine();
  for (const name of names) made.join(name);
  return made;
};

test('nobody waits at first', () => {
  assert.equal(waitingLine().next(), null);
});
test('first come, first served', () => {
  const three = line('ann', 'bob', 'cy');
  assert.deepEqual([three.next(), three.next(), three.next(), three.next()], ['ann', 'bob', 'cy', null]);
  assert.equal(three.served(), 3);
});
test('joining gives the place', () => {
  assert.equal(line('ann').join('bob'), 2);
});
test('waiting takes five minutes each', () => {
  assert.equal(line('ann', 'bob', 'cy').minutes('cy'), 12);
});
