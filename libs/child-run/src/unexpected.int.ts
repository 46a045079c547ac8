import { describe, expect, onTestFinished, test } from 'vitest';
import { contractWith, LEARNING } from '../../contract/src/smallest.testkit.js';
import type { Action, ActionPorts } from './actions.js';
import { drive, type Kit, kit } from './child-run.testkit.js';
import { createRunActions } from './run-actions.js';
import { unexpectedEnd } from './unexpected.js';

const broken = (): never => {
  throw new TypeError('Cannot read properties of undefined');
};

/** What an executor makes of an action in a world where something is broken that nobody thought of. */
async function performed(run: Kit, action: Action, part: Partial<ActionPorts>) {
  const actions = createRunActions(run.run, { ...run.ports, ...part });
  onTestFinished(() => actions.dispose());
  return actions.perform(action, run.state, () => {}, new AbortController().signal);
}

describe('an action that breaks in a way that nobody foresaw', () => {
  test('ends no executor: the run is sealed unverifiable, with the reason', async () => {
    const run = await kit({ contract: { learning: LEARNING } });
    run.run.request.body.lessons.push(run.run.request.ref);
    await run.record({
      type: 'run_started',
      body: {
        request: run.run.request.ref,
        contract_digest: run.run.contractDigest as never,
        budget: run.run.contract.budget,
        executor: run.run.software,
      },
    });
    const drafts = await performed(run, { kind: 'recall' }, { lessonProof: broken });
    const lesson = run.run.request.ref;
    expect(drafts).toMatchObject([
      { type: 'infrastructure_failed', body: { where: 'agent', code: 'unexpected' } },
      { type: 'lessons_recalled', body: { used: [], refused: [{ lesson, code: 'unexpected' }] } },
    ]);
    await run.record(...drafts);
    await drive(run);
    expect(run.state.answer).toBeNull();
    expect(run.last('run_sealed')).toMatchObject({ verdict: 'unverifiable' });
    expect(run.last('verdict').reason).toContain('TypeError');
  });

  test('leaves a lesson unpassed when it was judging one', async () => {
    const run = await kit();
    const lesson = run.run.request.ref;
    const cause = new TypeError('Cannot read properties of undefined');
    expect(unexpectedEnd({ kind: 'check_lesson', lesson }, cause, run.state, run.run)).toMatchObject([
      { type: 'lesson_checked', body: { lesson, gate: 'checks', passed: false } },
    ]);
    expect(unexpectedEnd({ kind: 'review_lesson', lesson, reviewer: 'a' }, cause, run.state, run.run)).toMatchObject([
      { type: 'lesson_reviewed', body: { lesson, reviewer: 'a', vote: 'abstain' } },
    ]);
  });

  test('is no entry where the log is what failed: that stops the executor, and the run goes on elsewhere', async () => {
    const answer = 'x'.repeat(9_000);
    const run = await kit({ contract: { agent: { ...contractWith().agent, answer } as never } });
    const gone = () => Promise.reject(new Error('the broker is away'));
    await expect(performed(run, { kind: 'agent' }, { putAttachment: gone })).rejects.toMatchObject({
      name: 'CannotGoOn',
      code: 'log_failed',
    });
  });
});
