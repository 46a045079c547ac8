import { z } from 'zod';

/** A whole number from 0 to 2^53 - 1. */
export const count = z.int().min(0);
const measured = count.nullable();

/**
 * What was spent. Money is integer nano-dollars (1 USD = 1e9). `null` is "nothing measured", which is not zero.
 * `unmeasured_calls` counts calls that were started and of which nobody knows the tokens (or anything), `unpriced_calls` those whose tokens were
 * measured and whose cost is unknown; so a sum over the rest never passes for the whole. Without such a call `unpriced_calls` is not there: entries of
 * earlier versions have none, and count such calls as unmeasured.
 */
export const usageSchema = z.strictObject({
  cost_nano_usd: measured,
  steps: count,
  input_tokens: measured,
  output_tokens: measured,
  unmeasured_calls: count,
  unpriced_calls: z.int().min(1).exactOptional(),
});
export type Usage = z.infer<typeof usageSchema>;

/** The spend of a child run by who caused it. */
export const spendSchema = z.strictObject({
  agent: usageSchema,
  tools: usageSchema,
  reviewers: usageSchema,
  extraction: usageSchema,
});
export type Spend = z.infer<typeof spendSchema>;

/** Nothing was called, so nothing was spent: a known zero. */
export const NO_SPEND: Usage = { cost_nano_usd: 0, steps: 0, input_tokens: 0, output_tokens: 0, unmeasured_calls: 0 };
/** One call or agent run of which nobody knows the spend. */
export const UNMEASURED: Usage = {
  cost_nano_usd: null,
  steps: 0,
  input_tokens: null,
  output_tokens: null,
  unmeasured_calls: 1,
};
export const NO_SPENDING: Spend = { agent: NO_SPEND, tools: NO_SPEND, reviewers: NO_SPEND, extraction: NO_SPEND };

// A zero must not turn "unknown" into "zero", so an unknown stays unless something positive was measured beside it.
function plus(a: number | null, b: number | null): number | null {
  if (a === null) return b === 0 ? null : b;
  if (b === null) return a === 0 ? null : a;
  return a + b;
}

/** The sum of what was measured (associative and commutative); what was not is counted in `unmeasured_calls` and `unpriced_calls`. */
export function addUsage(a: Usage, b: Usage): Usage {
  const unpriced = (a.unpriced_calls ?? 0) + (b.unpriced_calls ?? 0);
  return {
    cost_nano_usd: plus(a.cost_nano_usd, b.cost_nano_usd),
    steps: a.steps + b.steps,
    input_tokens: plus(a.input_tokens, b.input_tokens),
    output_tokens: plus(a.output_tokens, b.output_tokens),
    unmeasured_calls: a.unmeasured_calls + b.unmeasured_calls,
    ...(unpriced === 0 ? {} : { unpriced_calls: unpriced }),
  };
}

export function addSpend(a: Spend, b: Spend): Spend {
  return {
    agent: addUsage(a.agent, b.agent),
    tools: addUsage(a.tools, b.tools),
    reviewers: addUsage(a.reviewers, b.reviewers),
    extraction: addUsage(a.extraction, b.extraction),
  };
}

/** Agent, tools, reviewers and extraction all count. */
export function totalUsage(spend: Spend): Usage {
  return [spend.agent, spend.tools, spend.reviewers, spend.extraction].reduce(addUsage);
}
