import { describe, expect, test } from 'vitest';
import { type Draft, type Entry, NO_SPEND, type Verdict } from '#lib/ledger';
import { Chain, childOf, drafts, freshEvaluation } from '../../event-log/src/fixtures.testkit.js';
import { LessonCounters } from './counters.js';
import { refNumbered } from './fixtures.testkit.js';
import { lessonAlias } from './render.js';

const [A, B] = [refNumbered(1), refNumbered(2)];
const ZERO = '0'.repeat(64) as Entry['hash'];

/** A run to which A and B are offered, that uses A, refuses B, cites as told, and ends as told. */
async function run(parent: Chain, repeat: number, cites: readonly string[], verdict: Verdict): Promise<Entry[]> {
  const entries: Entry[] = [];
  const write = async (chain: Chain, draft: Draft): Promise<void> => void entries.push((await chain.next(draft)).entry);
  const child = childOf(parent.evaluation, repeat);
  const requested = await parent.next({
    type: 'child_requested',
    body: { child_run_id: child, case: null, seed: 0, run: 'r', lessons: [A, B] },
  });
  entries.push(requested.entry);
  const chain = Chain.child(requested);
  await write(chain, drafts.runStarted(requested));
  const refused = [{ lesson: B, code: 'lesson_unverified', reason: 'quorum: 1 approved, 2 must' }];
  await write(chain, {
    type: 'lessons_recalled',
    body: { used: [{ lesson: A, tokens: 9 }], refused, layer: { text: '' }, layer_digest: ZERO },
  });
  for (const lesson of cites)
    await write(chain, { type: 'agent_reported', body: { events: [{ type: 'cited', lesson }] } });
  const verdict_ref = refNumbered(9);
  const superseded = { count: 0, hashes: [], usage: NO_SPEND };
  await write(parent, {
    type: 'child_anchor',
    body: {
      child_run_id: child,
      entries: 3,
      root_hash: ZERO,
      head_hash: ZERO,
      verdict,
      verdict_ref,
      usage: NO_SPEND,
      superseded,
    },
  });
  return entries;
}

describe('the counters of a lesson', () => {
  test('count offers, renderings, citations and what came after, each once a run', async () => {
    const parent = Chain.evaluation(freshEvaluation());
    await parent.next(drafts.started());
    const counters = new LessonCounters();
    const runs = [
      await run(parent, 1, [lessonAlias(1), lessonAlias(1)], 'pass'),
      await run(parent, 2, [], 'fail'),
      await run(parent, 3, [lessonAlias(1)], 'pass'),
    ];
    for (const entry of runs.flat()) counters.observe(entry);
    expect(counters.of(A)).toEqual({ offered: 3, rendered: 3, cited: 2, after: { pass: 2, fail: 1, unverifiable: 0 } });
  });

  test('count nothing for a lesson that was refused, for a citation of what was not seen, or for a run without an anchor', async () => {
    const parent = Chain.evaluation(freshEvaluation());
    await parent.next(drafts.started());
    const counters = new LessonCounters();
    for (const entry of (await run(parent, 1, [lessonAlias(2), A, 'l_0'], 'pass')).slice(0, -1))
      counters.observe(entry);
    expect(counters.of(B)).toEqual({ offered: 1, rendered: 0, cited: 0, after: { pass: 0, fail: 0, unverifiable: 0 } });
    expect(counters.of(A)).toEqual({ offered: 1, rendered: 1, cited: 0, after: { pass: 0, fail: 0, unverifiable: 0 } });
  });
});
