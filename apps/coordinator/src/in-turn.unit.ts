import { expect, test } from 'vitest';
import { InTurn } from './in-turn.js';

test('the acceptances of one requester come one after another, and nobody waits for those of another', async () => {
  const turns = new InTurn();
  const slow = Promise.withResolvers<void>();
  const done: string[] = [];
  const at = (name: string, what: string, until: Promise<void> = Promise.resolve()) =>
    turns.do(name, async () => {
      await until;
      done.push(what);
    });
  const [first, second, other] = [at('ana', 'ana 1', slow.promise), at('ana', 'ana 2'), at('ben', 'ben 1')];
  await other;
  expect(done).toEqual(['ben 1']);
  slow.resolve();
  await Promise.all([first, second]);
  expect(done).toEqual(['ben 1', 'ana 1', 'ana 2']);
});

test('one that fails holds up nobody, and nothing of what is over is kept', async () => {
  const turns = new InTurn();
  const failing = turns.do('ana', () => Promise.reject(new Error('the broker is away')));
  const next = turns.do('ana', async () => 'accepted');
  await expect(failing).rejects.toThrow('the broker is away');
  expect(await next).toBe('accepted');
  await expect.poll(() => turns.size).toBe(0);
});
