import { describe, expect, test } from 'vitest';
import type { Contract } from '#lib/contract';
import { type ChildState, evolveChild, newChild } from '#lib/evaluation';
import { type BodyOf, type CallPurpose, type Draft, type Entry, NO_SPEND, type Usage } from '#lib/ledger';
import { LEARNING } from '../../contract/src/smallest.testkit.js';
import { callCompleted, callStarted, LESSON } from '../../evaluation/src/scene.testkit.js';
import type { RunContext } from './actions.js';
import { decideRun } from './decide.js';
import { blob, CHILD, contextOf, hash, recalled, ref, started, takeOver } from './decide.testkit.js';

const SPENT: Usage = { cost_nano_usd: 7, steps: 1, input_tokens: 5, output_tokens: 2, unmeasured_calls: 0 };
const agent = (...tools: string[]): Contract['agent'] => ({
  kind: 'llm',
  provider: 'main',
  tools,
  answer_file: 'answer.txt',
});
const modelPanel: Contract['panel'] = {
  quorum: 1,
  reviewers: [{ name: 'a', provider: 'main', instructions: null }],
};

const runOf = (part: Partial<Contract> = {}): RunContext =>
  contextOf('on', { agent: agent(), learning: null, ...part });

/** The state after these drafts, each confirmed a second after the one before. */
function given(...drafts: Draft[]): ChildState {
  const child = newChild();
  [started, recalled, ...drafts].forEach((draft, seq) => {
    const at = new Date(seq * 1000).toISOString();
    evolveChild(child, { ledger: CHILD, seq, hash: hash(seq), at, ...draft } as Entry);
  });
  return child;
}

const intent = (call: number, purpose: CallPurpose = 'agent', subject: string | null = null): Draft => ({
  type: 'model_call_started',
  body: {
    ...callStarted(call),
    purpose,
    subject,
    reviewer: purpose === 'review' ? 'a' : null,
    max_input_tokens: 50,
    max_output_tokens: 9,
    worst_case_nano_usd: 100,
  },
});
const completed = (call: number, part: Partial<BodyOf<'model_call_completed'>> = {}): Draft => ({
  type: 'model_call_completed',
  body: { ...callCompleted(call), usage: SPENT, ...part },
});
const failed = (call: number): Draft =>
  completed(call, { outcome: 'failed', code: 'provider_unreachable', reason: 'it broke', usage: NO_SPEND });
const used = (call: number, index: number): Draft => ({
  type: 'tool_called',
  body: { call, index, tool: 'read_file', arguments: blob, ok: true, result: blob },
});
const changed: Draft = { type: 'workspace_changed', body: { files: [], protected: [], content: blob } };
const spentAll: Draft = { type: 'budget_exhausted', body: { limit: 'steps', max: 1, spent: 1 } };
const answered: Draft = {
  type: 'answer_submitted',
  body: { ended: 'exited', exit_code: null, signal: null, output: blob, usage: SPENT },
};

const next = (child: ChildState, part: Partial<Contract> = {}, extracted = false) => {
  const step = decideRun(child, runOf(part), extracted);
  return step.kind === 'act' ? step.action : step.kind === 'record' ? step.drafts[0] : step;
};
const prepare = { kind: 'prepare_call', purpose: 'agent', subject: null, reviewer: null };

describe('given a model agent', () => {
  test('then the intent of a call is recorded, then the call is made, then its reply is the answer', () => {
    expect(next(given())).toEqual(prepare);
    expect(next(given(intent(1)))).toEqual({ kind: 'call', call: 1 });
    expect(next(given(intent(1), completed(1)))).toEqual({ kind: 'submit' });
  });

  test('then the tools that an answer asks for are used one by one, and then it is called again', () => {
    const tools = { agent: agent('read_file') };
    const asks = completed(1, { tool_calls: 2, finish: 'tool_calls' });
    expect(next(given(intent(1), asks), tools)).toEqual({ kind: 'tool', call: 1, index: 0 });
    expect(next(given(intent(1), asks, used(1, 0)), tools)).toEqual({ kind: 'tool', call: 1, index: 1 });
    const both = [intent(1), asks, used(1, 0), used(1, 1)];
    expect(next(given(...both), tools)).toEqual(prepare);
    expect(next(given(...both, intent(2), completed(2)), tools)).toEqual({ kind: 'submit' });
  });

  test('then an agent without tools is not given any that its model makes up', () => {
    expect(next(given(intent(1), completed(1, { tool_calls: 3 })))).toEqual({ kind: 'submit' });
  });

  test('then a spent budget ends it, wherever it is', () => {
    const tools = { agent: agent('read_file') };
    expect(next(given(spentAll), tools)).toEqual({ kind: 'submit' });
    expect(next(given(intent(1), completed(1, { tool_calls: 1 }), spentAll), tools)).toEqual({ kind: 'submit' });
  });

  test('then a model that cannot be reached is a fault of the infrastructure, with its reason', () => {
    expect(next(given(intent(1), failed(1)))).toEqual({
      type: 'infrastructure_failed',
      body: { where: 'agent', code: 'provider_unreachable', message: 'it broke' },
    });
  });
});

describe('given a crash', () => {
  test('then a call under way is made anew, and stays one that nobody measured', () => {
    const child = given(intent(1), completed(1, { tool_calls: 1 }), used(1, 0), intent(2), takeOver);
    expect(next(child, { agent: agent('read_file') })).toEqual(prepare);
    expect(child.interrupted).toEqual({
      ...NO_SPEND,
      cost_nano_usd: null,
      input_tokens: null,
      output_tokens: null,
      unmeasured_calls: 1,
    });
    expect(child.spend.agent).toEqual(SPENT);
  });

  test('then an answer that was confirmed is not asked for again, and no confirmed tool used again', () => {
    const tools = { agent: agent('read_file') };
    const asks = completed(1, { tool_calls: 2 });
    expect(next(given(intent(1), asks, takeOver), tools)).toEqual({ kind: 'tool', call: 1, index: 0 });
    expect(next(given(intent(1), asks, used(1, 0), takeOver), tools)).toEqual({ kind: 'tool', call: 1, index: 1 });
    expect(given(intent(1), asks, used(1, 0), takeOver).interrupted).toEqual(NO_SPEND);
  });

  test('then a tool whose change was confirmed and the tool itself was not is used again on the files as they were', () => {
    const asks = completed(1, { tool_calls: 1 });
    expect(given(intent(1), asks, changed).workspace).toBeNull();
    expect(given(intent(1), asks, changed, takeOver, used(1, 0)).workspace).toBeNull();
    expect(given(intent(1), asks, changed, used(1, 0)).workspace).toMatchObject({ ref: ref(4) });
  });

  test('then the time in which nobody worked is not counted', () => {
    expect(given(intent(1), completed(1)).workedMs).toBe(1000);
    expect(given(intent(1), takeOver, intent(2), completed(2)).workedMs).toBe(2000);
  });

  test('then what a model cited before it does not make it a program that begins anew', () => {
    const cited: Draft = { type: 'agent_reported', body: { events: [{ type: 'cited', lesson: 'l_1' }] } };
    const child = given(intent(1), completed(1), cited, takeOver);
    expect(child.interrupted).toEqual(NO_SPEND);
    expect(next(child)).toEqual({ kind: 'submit' });
  });
});

describe('given a reviewer with a model', () => {
  const part = {
    criteria: [{ id: 'taste', kind: 'review', question: 'Is it minimal?' }],
    panel: modelPanel,
  } satisfies Partial<Contract>;
  const key = { purpose: 'review', subject: 'taste', reviewer: 'a' };
  const done = [intent(1), completed(1), answered];
  const delegated: Draft = {
    type: 'review_delegated',
    body: { criterion: 'taste', reviewer: 'a', question_digest: hash(0) },
  };

  test('then it is delegated to, called, and its answer read, in this order', () => {
    expect(next(given(...done), part)).toMatchObject({ type: 'review_delegated' });
    expect(next(given(...done, delegated), part)).toEqual({ kind: 'prepare_call', ...key });
    const asked = [...done, delegated, intent(2, 'review', 'taste')];
    expect(next(given(...asked), part)).toEqual({ kind: 'call', call: 2 });
    expect(next(given(...asked, takeOver), part)).toEqual({ kind: 'prepare_call', ...key });
    for (const end of [completed(2), failed(2)])
      expect(next(given(...asked, end), part)).toEqual({ kind: 'review', criterion: 'taste', reviewer: 'a' });
  });

  test('then its usage is the reviewers’', () => {
    const child = given(...done, delegated, intent(2, 'review', 'taste'), completed(2));
    expect(child.spend).toMatchObject({ agent: SPENT, reviewers: SPENT });
  });
});

describe('given a verdict and lessons that a model writes', () => {
  const learning = { ...LEARNING, extractor: 'llm' as const, provider: 'main' };
  const judged = (verdict: 'pass' | 'fail' | 'unverifiable'): Draft[] => [
    intent(1),
    completed(1),
    answered,
    { type: 'verdict', body: { verdict, criteria: [], reason: '' } },
  ];
  const key = { purpose: 'extraction', subject: ref(5), reviewer: null };

  test('then the call is made once, and what it wrote is read', () => {
    expect(next(given(...judged('pass')), { learning })).toEqual({ kind: 'prepare_call', ...key });
    const asked = [...judged('pass'), intent(2, 'extraction', ref(5))];
    expect(next(given(...asked), { learning })).toEqual({ kind: 'call', call: 2 });
    expect(next(given(...asked, completed(2)), { learning })).toEqual({ kind: 'extract' });
    expect(next(given(...asked, completed(2), takeOver), { learning })).toEqual({ kind: 'extract' });
    expect(next(given(...asked, failed(2)), { learning })).toEqual({ kind: 'extract' });
    expect(given(...asked, completed(2)).spend.extraction).toEqual(SPENT);
  });

  test('then nothing is paid for where nothing can be learnt: no verdict, or a fail that the first gate refuses', () => {
    expect(next(given(...judged('unverifiable')), { learning })).toEqual({ kind: 'extract' });
    expect(next(given(...judged('fail')), { learning })).toEqual({ kind: 'extract' });
    const ungated = { ...learning, gates: ['checks' as const] };
    expect(next(given(...judged('fail')), { learning: ungated })).toMatchObject({ purpose: 'extraction' });
  });

  test('then a spent budget or a fault ends the learning and not the verdict', () => {
    const fault: Draft = { type: 'infrastructure_failed', body: { where: 'agent', code: 'x', message: 'x' } };
    for (const end of [spentAll, fault]) {
      const child = given(...judged('pass'), end);
      expect(child.broken).toBeNull();
      expect(next(child, { learning })).toEqual({ kind: 'extract' });
    }
  });

  test('then a model of the panel is called about a lesson by the lesson’s ref', () => {
    const extracted: Draft = { type: 'lesson_extracted', body: { lesson: LESSON, digest: 'e'.repeat(64) } };
    const part = { learning: { ...LEARNING, gates: ['panel' as const] }, panel: modelPanel };
    const subject = `lesson:${ref(6)}`;
    const so = [...judged('pass'), extracted];
    const delegated = next(given(...so), part, true) as Draft;
    expect(delegated).toMatchObject({ type: 'review_delegated', body: { criterion: subject } });
    expect(next(given(...so, delegated), part, true)).toEqual({
      kind: 'prepare_call',
      purpose: 'review',
      subject,
      reviewer: 'a',
    });
    const asked = [...so, delegated, intent(2, 'review', subject), completed(2)];
    expect(next(given(...asked), part, true)).toEqual({ kind: 'review_lesson', lesson: ref(6), reviewer: 'a' });
  });
});
