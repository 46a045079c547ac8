import { describe, expect, test } from 'vitest';
import { contractWith, LEARNING } from './smallest.testkit.js';
import { budgetProblem, providersInUse, unsupportedReason } from './supported.js';
import type { Contract } from './types.js';

const llm: Contract['agent'] = { kind: 'llm', provider: 'main', tools: [], answer_file: 'answer.txt' };
const panel: Contract['panel'] = {
  quorum: 1,
  reviewers: [
    { name: 'model', provider: 'judge', instructions: null },
    { name: 'program', command: ['true'], instructions: null },
  ],
};
const costs = (max_cost_nano_usd: number | null) => ({ ...contractWith().budget, max_cost_nano_usd });

test('a model agent cannot report lessons of its own, and a program can', () => {
  const learning = { ...LEARNING, extractor: 'agent' as const };
  expect(unsupportedReason(contractWith({ agent: llm, learning }))).toContain('use "exemplar" or "llm"');
  expect(unsupportedReason(contractWith({ agent: { kind: 'command', command: ['a'] }, learning }))).toBeNull();
  expect(
    unsupportedReason(contractWith({ agent: llm, learning: { ...LEARNING, extractor: 'llm' }, panel })),
  ).toBeNull();
});

test('the providers in use are those of agent, reviewers and extractor, each once', () => {
  const learning = { ...LEARNING, extractor: 'llm' as const, provider: 'main' };
  expect(providersInUse(contractWith({ agent: llm, panel, learning }))).toEqual(['judge', 'main']);
  expect(providersInUse(contractWith())).toEqual([]);
});

describe('a limit of cost', () => {
  const contract = contractWith({ agent: llm, panel, budget: costs(1) });

  test('is refused while any model in use has no known price, whoever calls it', () => {
    expect(budgetProblem(contract, null, (name) => name === 'main')).toContain('provider `judge` has no known price');
    expect(budgetProblem(contract, null, () => true)).toBeNull();
  });

  test('of the whole evaluation is one too', () => {
    const unlimited = contractWith({ agent: llm, budget: costs(null) });
    expect(budgetProblem(unlimited, 1, () => false)).toContain('provider `main`');
    expect(budgetProblem(unlimited, null, () => false)).toBeNull();
  });

  test('needs no price where no model is called', () => {
    expect(budgetProblem(contractWith({ budget: costs(1) }), 1, () => false)).toBeNull();
  });
});
