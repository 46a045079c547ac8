import type { Contract, Criterion } from '#lib/contract';
import { inputTokensUpperBound, type ModelRequest, pricingOf, worstCase } from '#lib/providers';
import { type Amount, NOTHING, plus, shortOf } from './budget.js';
import { MAX_DATA_BYTES } from './quoted.js';
import { emptyReview } from './review-request.js';
import { agentAsking } from './agent-request.js';

/** A request without what the provider and the budget decide. */
export interface Asking extends Pick<ModelRequest, 'system' | 'messages' | 'tools' | 'structured'> {
  readonly provider: string;
  /** Output tokens, at most. */
  readonly wanted: number;
}

export function requestOf(contract: Contract, asking: Asking, max_output_tokens: number): ModelRequest {
  const { provider: name, wanted: _wanted, ...parts } = asking;
  const provider = contract.providers[name];
  // A recording that is being made asks as whom it records.
  const asked = contract.providers[provider?.record_from ?? name];
  const model = provider?.model ?? asked?.model ?? '';
  const temperature = provider?.temperature ?? asked?.temperature ?? null;
  return { model, temperature, ...parts, max_output_tokens };
}

/** The most that a request can take. `atMs`: the day of the price table, in milliseconds since the epoch. */
export async function worstOf(
  contract: Contract,
  provider: string,
  request: ModelRequest,
  atMs: number,
  moreInput = 0,
): Promise<Amount> {
  const input = inputTokensUpperBound(request) + moreInput;
  const output = request.max_output_tokens;
  const pricing = await pricingOf(provider, contract, atMs);
  return { cost: worstCase(pricing, input, output), input, output };
}

/**
 * What the review criteria can take, so that a run that spent its budget can be judged. It is the same in every arm: what lessons cost is not reserved,
 * else the arm that learns would have less for its agent.
 */
export async function shareOfVerification(
  contract: Contract,
  criteria: readonly Criterion[],
  atMs: number,
): Promise<Amount> {
  let share = NOTHING;
  for (const criterion of criteria) {
    if (criterion.kind !== 'review') continue;
    for (const reviewer of contract.panel?.reviewers ?? []) {
      if (!('provider' in reviewer)) continue;
      const empty = emptyReview(reviewer, criterion.question);
      const request = requestOf(contract, empty, empty.wanted);
      share = plus(share, await worstOf(contract, reviewer.provider, request, atMs, MAX_DATA_BYTES));
    }
  }
  return share;
}

const KEYS = { cost: 'max_cost_usd', input_tokens: 'max_input_tokens', output_tokens: 'max_output_tokens' } as const;

/**
 * The limit of a contract's budget that leaves its model agent no first call, beside what the panel may need; `null` where there is room, or no model.
 * Cases and lessons only make the call longer.
 */
export async function limitWithoutRoom(
  contract: Contract,
  atMs: number,
): Promise<(typeof KEYS)[keyof typeof KEYS] | null> {
  const { agent, budget, criteria, instructions } = contract;
  if (agent.kind !== 'llm') return null;
  const asking = agentAsking(agent, instructions, []);
  const share = await shareOfVerification(contract, criteria, atMs);
  const left = (budget.max_output_tokens ?? Number.POSITIVE_INFINITY) - share.output;
  const request = requestOf(contract, asking, Math.max(1, Math.min(asking.wanted, left)));
  const short = shortOf(budget, NOTHING, plus(share, await worstOf(contract, agent.provider, request, atMs)));
  return short === null ? null : KEYS[short.limit as keyof typeof KEYS];
}
