import { expect, test } from 'vitest';
import type { EventLog } from '#lib/event-log';
import { openTrustStore } from '#lib/ledger';
import { createMemoryLog } from '../../event-log/src/memory-log.testkit.js';
import { evaluate, type Script, trust } from '../../verification/src/evaluation.testkit.js';
import { EvaluationViews } from './views.js';

/** The views over a real log that holds an evaluation, or nothing of it; `follows` counts who follows it now, and who ever did. */
async function viewsOf(script: Script, from = 0, to?: number) {
  const { evaluation, entries } = await evaluate({ repeats: 1, replicates: 1, ...script });
  const { log } = createMemoryLog({ keys: openTrustStore(trust) });
  for (const entry of entries.slice(from, to)) await log.append([{ entry, attachment: null }]);
  const follows = { now: 0, ever: 0 };
  const counting: Pick<EventLog, 'follow'> = {
    async follow(id, listener) {
      const following = await log.follow(id, listener);
      follows.now += 1;
      follows.ever += 1;
      return {
        ...following,
        stop: () => {
          follows.now -= 1;
          following.stop();
        },
      };
    },
  };
  return { evaluation, follows, views: new EvaluationViews({ log: { ...log, ...counting } }) };
}

test('the fold of an open evaluation is kept for the next run, and not made again', async () => {
  const { evaluation, follows, views } = await viewsOf({}, 0, 3);
  await views.open(evaluation);
  await views.close(evaluation);
  expect((await views.open(evaluation)).view.live.parent?.hashes).not.toHaveLength(0);
  await views.close(evaluation);
  expect(follows).toEqual({ now: 1, ever: 1 });
});

test('the fold of a closed evaluation goes with its last user, and not before', async () => {
  const { evaluation, follows, views } = await viewsOf({});
  await views.open(evaluation);
  await views.open(evaluation);
  await views.close(evaluation);
  expect(follows).toEqual({ now: 1, ever: 1 });
  await views.close(evaluation);
  expect(follows).toEqual({ now: 0, ever: 1 });
});

test('the fold of an evaluation that nobody began is not kept: anybody may name one', async () => {
  const { evaluation, follows, views } = await viewsOf({}, 0, 0);
  await views.open(evaluation);
  await views.close(evaluation);
  expect(follows).toEqual({ now: 0, ever: 1 });
});

test('a log that fails once is asked again', async () => {
  const { evaluation } = await viewsOf({}, 0, 0);
  const { log } = createMemoryLog({ keys: openTrustStore(trust) });
  let failures = 1;
  const follow: EventLog['follow'] = async (id, listener) => {
    if (failures-- > 0) throw new Error('not now');
    return log.follow(id, listener);
  };
  const views = new EvaluationViews({ log: { ...log, follow } });
  await expect(views.open(evaluation)).rejects.toThrow('not now');
  await expect(views.open(evaluation)).resolves.toBeDefined();
});
