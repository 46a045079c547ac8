import { describe, expect, test } from 'vitest';
import type { Contract, Criterion } from '#lib/contract';
import { type ChildState, evolveChild, newChild, reportedUsage } from '#lib/evaluation';
import { type BodyOf, type Draft, type Entry, NO_SPEND, type Verdict, type Vote } from '#lib/ledger';
import { CHECKS } from '#lib/lessons';
import { LEARNING } from '../../contract/src/smallest.testkit.js';
import { LESSON } from '../../evaluation/src/scene.testkit.js';
import type { RunContext } from './actions.js';
import { decideRun, reviewResult, type Step } from './decide.js';
import { blob, CHILD, contextOf, hash, recalled, ref, started, takeOver } from './decide.testkit.js';
import { taskDigest } from './task.js';

const sums: Criterion = { id: 'right', kind: 'match', file: 'answer.txt', equals: '4' };
const taste: Criterion = { id: 'taste', kind: 'review', question: 'Is it minimal?' };
const panel: Contract['panel'] = {
  quorum: 2,
  reviewers: ['a', 'b', 'c'].map((name) => ({ name, command: ['true'], instructions: null })),
};

/** The state after these drafts, as if each had been confirmed. */
function given(...drafts: Draft[]): ChildState {
  const child = newChild();
  drafts.forEach((draft, seq) => {
    evolveChild(child, { ledger: CHILD, seq, hash: hash(seq), ...draft } as Entry);
  });
  return child;
}

const reported = (...events: BodyOf<'agent_reported'>['events']): Draft => ({
  type: 'agent_reported',
  body: { events },
});
const intent = reported({ type: 'started', context: taskDigest(contextOf('on')) });
const answered: Draft = {
  type: 'answer_submitted',
  body: { ended: 'exited', exit_code: 0, signal: null, output: blob, usage: NO_SPEND },
};
const checked = (criterion: string, result: Verdict): Draft => ({
  type: 'criterion_checked',
  body: { criterion, result, reason: '', output: blob, usage: NO_SPEND },
});
const judged = (verdict: Verdict): Draft => ({ type: 'verdict', body: { verdict, criteria: [], reason: '' } });
const extracted: Draft = { type: 'lesson_extracted', body: { lesson: LESSON, digest: 'e'.repeat(64) } };

function recorded(step: Step): Draft {
  const draft = step.kind === 'record' ? step.drafts[0] : undefined;
  if (draft === undefined) throw new Error(`the step records nothing: ${JSON.stringify(step)}`);
  return draft;
}
const actionOf = (step: Step) => (step.kind === 'act' ? step.action : step);

describe('given a run that was just requested', () => {
  test('then it starts, and in learning_on recalls before its agent may see anything', () => {
    const run = contextOf('on');
    expect(recorded(decideRun(given(), run, false)).type).toBe('run_started');
    expect(actionOf(decideRun(given(started), run, false))).toEqual({ kind: 'recall' });
  });

  test('then the intent to start a program is recorded before the program starts', () => {
    const run = contextOf('on');
    expect(recorded(decideRun(given(started, recalled), run, false))).toEqual(intent);
    expect(actionOf(decideRun(given(started, recalled, intent), run, false))).toEqual({ kind: 'agent' });
  });

  test('then learning_off recalls nothing', () => {
    expect(recorded(decideRun(given(started), contextOf('off'), false))).toEqual(intent);
  });

  test('then the intent names what both arms are told alike: another seed or other instructions are another task', () => {
    const on = contextOf('on');
    const intended = (run: RunContext): Draft => recorded(decideRun(given(started, recalled), run, false));
    const { request, rendered } = on;
    expect(intended({ ...on, request: { ...request, body: { ...request.body, run: 'another' } } })).toEqual(intent);
    expect(intended({ ...on, request: { ...request, body: { ...request.body, seed: 99 } } })).not.toEqual(intent);
    expect(intended({ ...on, rendered: { ...rendered, instructions: 'Subtract.' } })).not.toEqual(intent);
  });

  test('then a constant answer, which spends nothing, needs no intent', () => {
    const run = contextOf('off', { agent: { kind: 'fixed', answer: '4', file: 'answer.txt' } });
    expect(actionOf(decideRun(given(started), run, false))).toEqual({ kind: 'agent' });
  });
});

describe('given the agent has answered', () => {
  const so = (...more: Draft[]) => given(started, recalled, intent, answered, ...more);

  test('then the criteria are checked in their order, and the verdict names what was checked', () => {
    const run = contextOf('on', { criteria: [sums, { ...sums, id: 'again' }] });
    expect(actionOf(decideRun(so(), run, false))).toEqual({ kind: 'check', criterion: 'right' });
    expect(actionOf(decideRun(so(checked('right', 'pass')), run, false))).toEqual({
      kind: 'check',
      criterion: 'again',
    });
    const verdict = recorded(decideRun(so(checked('right', 'pass'), checked('again', 'pass')), run, false));
    expect(verdict).toMatchObject({ type: 'verdict', body: { verdict: 'pass', criteria: [ref(4), ref(5)] } });
  });

  test.each([
    [['pass', 'pass'], 'pass'],
    [['pass', 'fail'], 'fail'],
    [['unverifiable', 'fail'], 'fail'],
    [['pass', 'unverifiable'], 'unverifiable'],
  ] as const)('then criteria %j make the verdict %s', ([first, second], verdict) => {
    const run = contextOf('on', { criteria: [sums, { ...sums, id: 'again' }] });
    const step = decideRun(so(checked('right', first), checked('again', second)), run, false);
    expect(recorded(step).body).toMatchObject({ verdict });
  });

  test('then each reviewer is delegated to before it is asked, and a quorum decides', () => {
    const run = contextOf('on', { criteria: [taste], panel });
    const delegated = recorded(decideRun(so(), run, false));
    expect(delegated).toMatchObject({ type: 'review_delegated', body: { criterion: 'taste', reviewer: 'a' } });
    expect(actionOf(decideRun(so(delegated), run, false))).toEqual({
      kind: 'review',
      criterion: 'taste',
      reviewer: 'a',
    });
    const votes = (['approve', 'reject', 'approve'] as Vote[]).map(
      (vote, i): Draft => ({
        type: 'review_returned',
        body: { criterion: 'taste', reviewer: 'abc'[i] as string, vote, reason: '', usage: NO_SPEND },
      }),
    );
    expect(recorded(decideRun(so(...votes), run, false))).toMatchObject({
      type: 'criterion_checked',
      body: { criterion: 'taste', result: 'pass', reason: '2 approve, 1 reject, 0 abstain; quorum 2' },
    });
  });
});

test.each([
  [2, 0, 2, 'pass'],
  [0, 2, 2, 'fail'],
  [1, 1, 2, 'unverifiable'],
  [2, 2, 2, 'unverifiable'],
  [0, 0, 1, 'unverifiable'],
] as const)('%i approvals and %i rejections at quorum %i are %s', (approvals, rejections, quorum, result) => {
  expect(reviewResult(approvals, rejections, quorum)).toBe(result);
});

describe('given the infrastructure failed', () => {
  test('then the verdict is unverifiable, with what broke as its reason, and no criterion is checked', () => {
    const broken: Draft = {
      type: 'infrastructure_failed',
      body: { where: 'agent', code: 'spawn', message: 'no such program' },
    };
    expect(recorded(decideRun(given(started, recalled, intent, broken), contextOf('on'), false)).body).toEqual({
      verdict: 'unverifiable',
      criteria: [],
      reason: 'agent: no such program',
    });
  });
});

test('a program that was never started has spent nothing, one that ran and told nothing is unmeasured', () => {
  const broken = (where: string): Draft => ({ type: 'infrastructure_failed', body: { where, code: 'x', message: '' } });
  const spentAfter = (...drafts: Draft[]) => given(started, recalled, intent, ...drafts).spend.agent;
  for (const where of ['contract', 'workspace', 'agent']) expect(spentAfter(broken(where))).toEqual(NO_SPEND);
  expect(spentAfter(broken('answer'))).toMatchObject({ cost_nano_usd: null, unmeasured_calls: 1 });
  expect(spentAfter(reported({ type: 'step', name: 'a' }), broken('workspace'))).toMatchObject({ unmeasured_calls: 1 });
});

describe('given a verdict', () => {
  const so = (...more: Draft[]) =>
    given(started, recalled, intent, answered, checked('right', 'pass'), judged('pass'), ...more);
  const allGates = contextOf('on', { panel, learning: { ...LEARNING, gates: ['verdict', 'checks', 'panel'] } });
  const lesson = ref(6);
  const passed = (gate: 'verdict' | 'checks', check: string): Draft => ({
    type: 'lesson_checked',
    body: { lesson, gate, check, passed: true, reason: '' },
  });
  const voted = (reviewer: string, vote: Vote): Draft => ({
    type: 'lesson_reviewed',
    body: { lesson, reviewer, vote, reason: '', usage: NO_SPEND },
  });

  test('then learning_off seals at once', () => {
    expect(recorded(decideRun(so(), contextOf('off'), false)).type).toBe('run_sealed');
  });

  test('then learning_on looks for lessons once a session, and seals where there are none', () => {
    expect(actionOf(decideRun(so(), allGates, false))).toEqual({ kind: 'extract' });
    expect(recorded(decideRun(so(), allGates, true)).type).toBe('run_sealed');
  });

  test('then a lesson goes through the gates in their order, cheapest first', () => {
    const gate = recorded(decideRun(so(extracted), allGates, true));
    expect(gate).toMatchObject({ type: 'lesson_checked', body: { lesson, gate: 'verdict', passed: true } });
    expect(actionOf(decideRun(so(extracted, gate), allGates, true))).toEqual({ kind: 'check_lesson', lesson });
    const checks = CHECKS.map((check) => passed('checks', check));
    const delegated = recorded(decideRun(so(extracted, gate, ...checks), allGates, true));
    expect(delegated).toMatchObject({
      type: 'review_delegated',
      body: { criterion: `lesson:${lesson}`, reviewer: 'a' },
    });
    expect(actionOf(decideRun(so(extracted, gate, ...checks, delegated), allGates, true))).toEqual({
      kind: 'review_lesson',
      lesson,
      reviewer: 'a',
    });
    const promoted = recorded(
      decideRun(so(extracted, gate, ...checks, voted('a', 'approve'), voted('b', 'approve')), allGates, true),
    );
    expect(promoted).toMatchObject({ type: 'lesson_promoted', body: { lesson, quorum: 2 } });
    expect(
      recorded(
        decideRun(
          so(extracted, gate, ...checks, voted('a', 'approve'), voted('b', 'approve'), promoted),
          allGates,
          true,
        ),
      ).type,
    ).toBe('run_sealed');
  });

  test('then a lesson from a run that did not pass is rejected at the first gate', () => {
    const failed = given(started, recalled, intent, answered, checked('right', 'fail'), judged('fail'), extracted);
    const gate = recorded(decideRun(failed, allGates, true));
    expect(gate.body).toMatchObject({ gate: 'verdict', passed: false });
    evolveChild(failed, { ledger: CHILD, seq: 7, hash: hash(7), ...gate } as Entry);
    expect(recorded(decideRun(failed, allGates, true))).toMatchObject({
      type: 'lesson_rejected',
      body: { gate: 'verdict' },
    });
  });

  test('then the seal counts every entry and repeats the verdict', () => {
    expect(recorded(decideRun(so(), contextOf('off'), false)).body).toMatchObject({
      entries: 7,
      verdict: 'pass',
      verdict_ref: ref(5),
    });
  });
});

describe('given a crash while the agent was running', () => {
  const usage = { ...NO_SPEND, cost_nano_usd: 5, input_tokens: 9 };

  test('then the agent begins anew, and what its last attempt reported is kept apart', () => {
    const child = given(
      started,
      recalled,
      intent,
      reported({ type: 'step', name: 'a' }, { type: 'usage', usage }),
      takeOver,
    );
    expect(child.events).toEqual([]);
    expect(child.interrupted).toEqual({ ...usage, steps: 1 });
    expect(recorded(decideRun(child, contextOf('on'), false))).toEqual(intent);
  });

  test('then an attempt that reported no usage is one unmeasured call', () => {
    expect(given(started, recalled, intent, takeOver).interrupted).toMatchObject({
      cost_nano_usd: null,
      unmeasured_calls: 1,
    });
  });

  test('then an attempt that had answered is not run again', () => {
    const child = given(started, recalled, intent, answered, takeOver);
    expect(actionOf(decideRun(child, contextOf('on'), false))).toEqual({ kind: 'check', criterion: 'right' });
    expect(child.interrupted).toEqual(NO_SPEND);
  });
});

test('an agent that reports no usage leaves it unknown, never zero', () => {
  expect(reportedUsage([{ type: 'started' }, { type: 'step', name: 'a' }])).toEqual({
    cost_nano_usd: null,
    steps: 1,
    input_tokens: null,
    output_tokens: null,
    unmeasured_calls: 1,
  });
});
