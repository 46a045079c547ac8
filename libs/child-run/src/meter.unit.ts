import { describe, expect, test } from 'vitest';
import { type AgentEvent, NO_SPEND, UNMEASURED } from '#lib/ledger';
import { BudgetMeter } from './meter.js';

const free = {
  max_cost_nano_usd: null,
  max_steps: null,
  max_input_tokens: null,
  max_output_tokens: null,
  timeout_ms: null,
};
const FIRST = { interrupted: NO_SPEND, workedMs: 0 };
const step: AgentEvent = { type: 'step', name: '' };
const used = (input: number | null, output: number | null, cost: number | null): AgentEvent => ({
  type: 'usage',
  usage: { cost_nano_usd: cost, steps: 0, input_tokens: input, output_tokens: output, unmeasured_calls: 0 },
});

describe('the budget meter', () => {
  test('allows as many steps as the limit, and stops at the next', () => {
    const meter = new BudgetMeter({ ...free, max_steps: 2 }, FIRST);
    expect([step, step].map((event) => meter.charge(event))).toEqual([null, null]);
    expect(meter.charge(step)).toEqual({ limit: 'steps', max: 2, spent: 3 });
  });

  test('sums tokens and money as they arrive, each against its own limit', () => {
    const meter = new BudgetMeter(
      { ...free, max_cost_nano_usd: 10, max_input_tokens: 100, max_output_tokens: 100 },
      FIRST,
    );
    expect(meter.charge(used(60, 10, 5))).toBeNull();
    expect(meter.charge(used(40, 10, 5))).toBeNull();
    expect(meter.charge(used(0, 81, 0))).toEqual({ limit: 'output_tokens', max: 100, spent: 101 });
    expect(meter.charge(used(1, 0, 0))).toMatchObject({ limit: 'input_tokens', spent: 101 });
    expect(meter.charge(used(0, 0, 1))).toMatchObject({ limit: 'cost', spent: 11 });
  });

  test('charges nothing for what was not measured', () => {
    const meter = new BudgetMeter({ ...free, max_cost_nano_usd: 0, max_input_tokens: 0 }, FIRST);
    expect(meter.charge(used(null, 5, null))).toBeNull();
    expect(meter.charge({ type: 'garbage', text: 'x' })).toBeNull();
  });

  test('a budget of zero allows nothing', () => {
    expect(new BudgetMeter({ ...free, max_steps: 0 }, FIRST).charge(step)).toMatchObject({ limit: 'steps', spent: 1 });
  });

  test('goes on from what attempts that were cut short had reported', () => {
    const before = { interrupted: { ...NO_SPEND, steps: 2, cost_nano_usd: 7 }, workedMs: 600 };
    const meter = new BudgetMeter({ ...free, max_steps: 3, max_cost_nano_usd: 10, timeout_ms: 1000 }, before);
    expect(meter.exhausted()).toBeNull();
    expect(meter.charge(step)).toBeNull();
    expect(meter.charge(used(0, 0, 4))).toEqual({ limit: 'cost', max: 10, spent: 11 });
    expect(meter.overTime(400.5)).toEqual({ limit: 'time', max: 1000, spent: 1001 });
  });

  test.each([
    ['steps', { max_steps: 1 }, { limit: 'steps', max: 1, spent: 2 }],
    ['time', { timeout_ms: 600 }, { limit: 'time', max: 600, spent: 600 }],
    ['nothing at a limit that was just reached', { max_steps: 2, timeout_ms: 601 }, null],
  ])('says before anything starts which limit they went beyond: %s', (_, limits, over) => {
    const before = { interrupted: { ...NO_SPEND, steps: 2 }, workedMs: 600 };
    expect(new BudgetMeter({ ...free, ...limits }, before).exhausted()).toEqual(over);
  });

  test('an interrupted attempt that reported no usage leaves tokens and cost uncharged, and its steps charged', () => {
    const meter = new BudgetMeter(
      { ...free, max_cost_nano_usd: 5, max_steps: 1 },
      {
        interrupted: { ...UNMEASURED, steps: 1 },
        workedMs: 0,
      },
    );
    expect(meter.charge(used(0, 0, 5))).toBeNull();
    expect(meter.charge(step)).toEqual({ limit: 'steps', max: 1, spent: 2 });
  });
});
