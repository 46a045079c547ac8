import type { Budget } from '#lib/contract';
import type { CallState, ChildState } from '#lib/evaluation';
import type { BodyOf } from '#lib/ledger';

export type Exhausted = BodyOf<'budget_exhausted'>;

/** Nano-dollars and tokens; a cost of `null` is one that nobody knows. */
export interface Amount {
  readonly cost: number | null;
  readonly input: number;
  readonly output: number;
}
export const NOTHING: Amount = { cost: 0, input: 0, output: 0 };

export function plus(a: Amount, b: Amount): Amount {
  const cost = a.cost === null || b.cost === null ? null : a.cost + b.cost;
  return { cost, input: a.input + b.input, output: a.output + b.output };
}

/**
 * What model calls have taken of the budget: what was measured and, where nobody measured, the most that it can have been. So a budget holds
 * even where the report must say "unknown".
 */
export function chargedOf(child: ChildState): Amount {
  return child.calls.map(chargeOf).reduce(plus, NOTHING);
}

function chargeOf({ started, outcome }: CallState): Amount {
  const worst: Amount = {
    cost: started.worst_case_nano_usd ?? 0,
    input: started.max_input_tokens ?? 0,
    output: started.max_output_tokens ?? 0,
  };
  if (outcome === 'open' || outcome === 'abandoned') return worst;
  const { cost_nano_usd: cost, input_tokens: input, output_tokens: output, unmeasured_calls } = outcome.body.usage;
  // Attempts that were cut off and tried again, beside the one that was answered.
  const lost = unmeasured_calls - (input === null || output === null ? 1 : 0);
  return {
    cost: (cost ?? worst.cost ?? 0) + lost * (worst.cost ?? 0),
    input: (input ?? worst.input) + lost * worst.input,
    output: (output ?? worst.output) + lost * worst.output,
  };
}

/** The first limit that has no room for what is needed, in the order cost, input tokens, output tokens; `null` while there is room. */
export function shortOf(budget: Budget, charged: Amount, needed: Amount): Exhausted | null {
  const short = (limit: Exhausted['limit'], max: number | null, spent: number | null, more: number | null) =>
    max !== null && spent !== null && more !== null && spent + more > max ? { limit, max, spent } : null;
  return (
    short('cost', budget.max_cost_nano_usd, charged.cost, needed.cost) ??
    short('input_tokens', budget.max_input_tokens, charged.input, needed.input) ??
    short('output_tokens', budget.max_output_tokens, charged.output, needed.output)
  );
}

/** A budget without a limit of steps ends all the same. */
const MAX_STEPS = 1_000;

/** Whether a model agent may make one more call. A step is one call that was answered. */
export function shortOfSteps(budget: Budget, child: ChildState): Exhausted | null {
  const max = budget.max_steps ?? MAX_STEPS;
  const spent = child.spend.agent.steps;
  return spent < max ? null : { limit: 'steps', max, spent };
}

/** Milliseconds that a model agent has worked by now. `now`: milliseconds since the epoch. */
function workedMs(child: ChildState, now: number): number {
  const works = child.calls.some(({ started }) => started.purpose === 'agent');
  return child.workedMs + (works ? Math.max(0, now - child.lastAt) : 0);
}

/** Milliseconds that a model agent has left, which may be none; `null` without a limit. */
export function timeLeft(budget: Budget, child: ChildState, now: number): number | null {
  return budget.timeout_ms === null ? null : budget.timeout_ms - workedMs(child, now);
}

export function outOfTime(budget: Budget, child: ChildState, now: number): Exhausted | null {
  const left = timeLeft(budget, child, now);
  if (left === null || left > 0) return null;
  return { limit: 'time', max: budget.timeout_ms ?? 0, spent: Math.ceil(workedMs(child, now)) };
}

/** What attempts of a program that a crash cut short have left of its budget. What they did not report, nobody can charge. */
export function budgetLeft(budget: Budget, { interrupted, workedMs }: ChildState): Budget {
  const left = (max: number | null, spent: number | null) => (max === null ? null : Math.max(0, max - (spent ?? 0)));
  return {
    max_cost_nano_usd: left(budget.max_cost_nano_usd, interrupted.cost_nano_usd),
    max_steps: left(budget.max_steps, interrupted.steps),
    max_input_tokens: left(budget.max_input_tokens, interrupted.input_tokens),
    max_output_tokens: left(budget.max_output_tokens, interrupted.output_tokens),
    timeout_ms: left(budget.timeout_ms, workedMs),
  };
}
