import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '#lib/ledger';
import { BudgetMeter } from './meter.js';

const free = {
  max_cost_nano_usd: null,
  max_steps: null,
  max_input_tokens: null,
  max_output_tokens: null,
  timeout_ms: null,
};
const step: AgentEvent = { type: 'step', name: '' };
const used = (input: number | null, output: number | null, cost: number | null): AgentEvent => ({
  type: 'usage',
  usage: { cost_nano_usd: cost, steps: 0, input_tokens: input, output_tokens: output, unmeasured_calls: 0 },
});

describe('the budget meter', () => {
  test('allows as many steps as the limit, and stops at the next', () => {
    const meter = new BudgetMeter({ ...free, max_steps: 2 });
    expect([step, step].map((event) => meter.charge(event))).toEqual([null, null]);
    expect(meter.charge(step)).toEqual({ limit: 'steps', max: 2, spent: 3 });
  });

  test('sums tokens and money as they arrive, each against its own limit', () => {
    const meter = new BudgetMeter({ ...free, max_cost_nano_usd: 10, max_input_tokens: 100, max_output_tokens: 100 });
    expect(meter.charge(used(60, 10, 5))).toBeNull();
    expect(meter.charge(used(40, 10, 5))).toBeNull();
    expect(meter.charge(used(0, 81, 0))).toEqual({ limit: 'output_tokens', max: 100, spent: 101 });
    expect(meter.charge(used(1, 0, 0))).toMatchObject({ limit: 'input_tokens', spent: 101 });
    expect(meter.charge(used(0, 0, 1))).toMatchObject({ limit: 'cost', spent: 11 });
  });

  test('charges nothing for what was not measured', () => {
    const meter = new BudgetMeter({ ...free, max_cost_nano_usd: 0, max_input_tokens: 0 });
    expect(meter.charge(used(null, 5, null))).toBeNull();
    expect(meter.charge({ type: 'garbage', text: 'x' })).toBeNull();
  });

  test('a budget of zero allows nothing', () => {
    expect(new BudgetMeter({ ...free, max_steps: 0 }).charge(step)).toMatchObject({ limit: 'steps', spent: 1 });
  });
});
