import { describe, expect, test } from 'vitest';
import { type CallState, newChild } from '#lib/evaluation';
import { type EntryHash, type EvalRunId, ledgerRef, NO_SPEND, UNMEASURED, type Usage } from '#lib/ledger';
import { contractWith } from '../../contract/src/smallest.testkit.js';
import { callCompleted, callStarted } from '../../evaluation/src/scene.testkit.js';
import { budgetLeft, chargedOf, shortOf } from './budget.js';
import { limitWithoutRoom } from './worst-case.js';

const WORST = { max_input_tokens: 50, max_output_tokens: 9, worst_case_nano_usd: 100 };
const HASH = '0'.repeat(64) as EntryHash;

function call(outcome: 'open' | 'abandoned' | Usage): CallState {
  const started = { ...callStarted(1), ...WORST };
  if (typeof outcome === 'string') return { started, outcome, tools: [] };
  const body = { ...callCompleted(1), usage: outcome };
  return { started, outcome: { ref: ledgerRef('ev_0' as EvalRunId, 1, HASH), body }, tools: [] };
}

describe('what calls are charged', () => {
  test.each<[string, 'open' | 'abandoned' | Usage, object]>([
    [
      'a measured one as measured',
      { ...NO_SPEND, cost_nano_usd: 7, input_tokens: 5, output_tokens: 2 },
      { cost: 7, input: 5, output: 2 },
    ],
    ['one under way at its most', 'open', { cost: 100, input: 50, output: 9 }],
    ['one that nobody heard of again at its most', 'abandoned', { cost: 100, input: 50, output: 9 }],
    ['an unmeasured one at its most', UNMEASURED, { cost: 100, input: 50, output: 9 }],
    ['three lost attempts three times', { ...UNMEASURED, unmeasured_calls: 3 }, { cost: 300, input: 150, output: 27 }],
    [
      'a lost attempt before one that was measured beside it',
      { cost_nano_usd: 7, steps: 1, input_tokens: 5, output_tokens: 2, unmeasured_calls: 1 },
      { cost: 107, input: 55, output: 11 },
    ],
    [
      'one of which the output alone is unknown at its most for that alone, and for the cost',
      { cost_nano_usd: null, steps: 1, input_tokens: 5, output_tokens: null, unmeasured_calls: 1 },
      { cost: 100, input: 5, output: 9 },
    ],
    [
      'one of which the price alone is unknown at its most for the cost',
      { cost_nano_usd: null, steps: 1, input_tokens: 5, output_tokens: 2, unmeasured_calls: 0, unpriced_calls: 1 },
      { cost: 100, input: 5, output: 2 },
    ],
    ['one that was refused nothing', NO_SPEND, { cost: 0, input: 0, output: 0 }],
  ])('%s', (_, outcome, charged) => {
    expect(chargedOf({ ...newChild(), calls: [call(outcome)] })).toEqual(charged);
  });
});

test('a limit of N allows N, and the first that is short is named with what was charged', () => {
  const budget = { ...contractWith().budget, max_cost_nano_usd: 100, max_output_tokens: 10 };
  const charged = { cost: 40, input: 0, output: 4 };
  expect(shortOf(budget, charged, { cost: 60, input: 1e9, output: 6 })).toBeNull();
  expect(shortOf(budget, charged, { cost: 61, input: 0, output: 7 })).toEqual({ limit: 'cost', max: 100, spent: 40 });
  expect(shortOf(budget, charged, { cost: 0, input: 0, output: 7 })).toEqual({
    limit: 'output_tokens',
    max: 10,
    spent: 4,
  });
});

describe('a budget that leaves a model agent no first call', () => {
  const price = { input_nano_usd_per_mtok: 1_000_000_000, output_nano_usd_per_mtok: 1_000_000_000 };
  const main = {
    kind: 'openai',
    base_url: null,
    model: 'm',
    api_key_env: null,
    temperature: null,
    file: null,
    record_from: null,
    price,
  } as const;
  const contract = (budget: object, reviews = 0) =>
    contractWith({
      agent: { kind: 'llm', provider: 'main', tools: [], answer_file: 'a' },
      providers: { main },
      criteria: Array.from({ length: reviews }, (_, i) => ({ id: `r${i}`, kind: 'review' as const, question: 'q' })),
      panel: { quorum: 1, reviewers: [{ name: 'a', provider: 'main', instructions: null }] },
      budget: { ...contractWith().budget, ...budget },
    });

  test.each([
    [{ max_output_tokens: 5 }, 0, null],
    [{ max_output_tokens: 2_048 }, 1, 'max_output_tokens'],
    [{ max_output_tokens: 2_049 }, 1, null],
    [{ max_input_tokens: 200 }, 0, 'max_input_tokens'],
    [{ max_input_tokens: 40_000 }, 1, null],
    [{ max_input_tokens: 40_000 }, 2, 'max_input_tokens'],
    [{ max_cost_nano_usd: 4_000_000 }, 0, 'max_cost_usd'],
    [{ max_cost_nano_usd: 5_000_000 }, 0, null],
  ])('%j with %i reviews: %s', async (budget, reviews, limit) => {
    expect(await limitWithoutRoom(contract(budget, reviews), 0)).toBe(limit);
  });
});

test('a program that is started again has what its interrupted attempts left, and never less than nothing', () => {
  const budget = {
    max_cost_nano_usd: 100,
    max_steps: 5,
    max_input_tokens: 10,
    max_output_tokens: null,
    timeout_ms: 900,
  };
  const interrupted = { cost_nano_usd: null, steps: 2, input_tokens: 12, output_tokens: 3, unmeasured_calls: 1 };
  expect(budgetLeft(budget, { ...newChild(), interrupted, workedMs: 300 })).toEqual({
    max_cost_nano_usd: 100,
    max_steps: 3,
    max_input_tokens: 0,
    max_output_tokens: null,
    timeout_ms: 600,
  });
});
