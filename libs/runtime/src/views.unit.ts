import { expect, test } from 'vitest';
import type { Following } from '#lib/event-log';
import type { EvalRunId, LiveChains } from '#lib/ledger';
import { EvaluationViews } from './views.js';

const EVALUATION = `ev_${'0'.repeat(32)}` as EvalRunId;

/** A log that counts who follows; `parent` and `closed` say how far the evaluation is. */
function viewsOver(live: Pick<LiveChains, 'parent' | 'closed'>) {
  const counts = { followed: 0, stopped: 0 };
  const follow = async (): Promise<Following> => {
    counts.followed += 1;
    return { live: live as LiveChains, caughtUp: async () => {}, stop: () => void (counts.stopped += 1) };
  };
  const ports: unknown = { log: { follow } };
  return { counts, views: new EvaluationViews(ports as ConstructorParameters<typeof EvaluationViews>[0]) };
}

test('the fold of an open evaluation is kept for the next run, and not made again', async () => {
  const { counts, views } = viewsOver({ parent: {} as LiveChains['parent'], closed: null });
  await views.open(EVALUATION);
  await views.close(EVALUATION);
  await views.open(EVALUATION);
  await views.close(EVALUATION);
  expect(counts).toEqual({ followed: 1, stopped: 0 });
});

test('the fold of an evaluation that is closed, or that nobody began, goes with its last user', async () => {
  for (const live of [
    { parent: {} as LiveChains['parent'], closed: 'hash' as unknown as LiveChains['closed'] },
    { parent: null, closed: null },
  ]) {
    const { counts, views } = viewsOver(live);
    await views.open(EVALUATION);
    await views.open(EVALUATION);
    await views.close(EVALUATION);
    expect(counts.stopped).toBe(0);
    await views.close(EVALUATION);
    expect(counts).toEqual({ followed: 1, stopped: 1 });
  }
});
