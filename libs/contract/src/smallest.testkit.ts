import type { Contract, Learning } from './types.js';

/** The smallest contract as it is loaded, but for what a test is about: a constant answer and one criterion. */
export function contractWith(part: Partial<Contract> = {}): Contract {
  return {
    id: 'sums',
    title: 'Sums',
    instructions: 'Add.',
    workspace: { digest: null, files: 0, bytes: 0, protected: [] },
    agent: { kind: 'fixed', answer: '4', file: 'answer.txt' },
    criteria: [{ id: 'right', kind: 'match', file: 'answer.txt', equals: '4' }],
    panel: null,
    budget: {
      max_cost_nano_usd: null,
      max_steps: 5,
      max_input_tokens: null,
      max_output_tokens: null,
      timeout_ms: null,
    },
    providers: {},
    learning: null,
    cases: [],
    evaluation: {
      max_cost_nano_usd: null,
      deadline_ms: 1000,
      repeats: null,
      replicates: 1,
      primary: 'pass_rate',
      alpha: 0.05,
      margin: 0.1,
      min_units: 6,
    },
    programs: [],
    ...part,
  };
}

export const LEARNING: Learning = {
  extractor: 'agent',
  provider: null,
  gates: ['verdict'],
  scope: 'sums',
  max_recalled: 5,
  same_case: 'exclude',
};
