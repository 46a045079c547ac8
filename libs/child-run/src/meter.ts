import type { ChildState } from '#lib/evaluation';
import { addUsage, type AgentEvent, type BodyOf, type Usage } from '#lib/ledger';

export type Exhausted = BodyOf<'budget_exhausted'>;

/**
 * What an agent has spent of its budget, attempts that a crash cut short included, charged event by event. A limit of N allows N: the first event that goes beyond it
 * exhausts it. What was never measured cannot be charged.
 */
export class BudgetMeter {
  #spent: Usage;
  readonly #workedMs: number;

  constructor(
    private readonly budget: BodyOf<'run_started'>['budget'],
    { interrupted, workedMs }: Pick<ChildState, 'interrupted' | 'workedMs'>,
  ) {
    this.#spent = interrupted;
    this.#workedMs = workedMs;
  }

  /** What earlier attempts left nothing of; `null` while there is room. */
  exhausted(): Exhausted | null {
    const { timeout_ms: max } = this.budget;
    return this.#over() ?? (max !== null && this.#workedMs >= max ? this.overTime(0) : null);
  }

  /** The first limit that is exceeded, in the order cost, steps, input tokens, output tokens; `null` while there is room. */
  charge(event: AgentEvent): Exhausted | null {
    if (event.type === 'step') this.#spent = { ...this.#spent, steps: this.#spent.steps + 1 };
    else if (event.type === 'usage') this.#spent = addUsage(this.#spent, event.usage);
    return this.#over();
  }

  #over(): Exhausted | null {
    const { budget } = this;
    return (
      over('cost', budget.max_cost_nano_usd, this.#spent.cost_nano_usd) ??
      over('steps', budget.max_steps, this.#spent.steps) ??
      over('input_tokens', budget.max_input_tokens, this.#spent.input_tokens) ??
      over('output_tokens', budget.max_output_tokens, this.#spent.output_tokens)
    );
  }

  /** The limit `time`, for an agent that was stopped after so many milliseconds of this attempt. */
  overTime(elapsedMs: number): Exhausted {
    const max = this.budget.timeout_ms ?? 0;
    return { limit: 'time', max, spent: Math.max(max, Math.ceil(this.#workedMs + elapsedMs)) };
  }
}

function over(limit: Exhausted['limit'], max: number | null, spent: number | null): Exhausted | null {
  return max !== null && spent !== null && spent > max ? { limit, max, spent } : null;
}
