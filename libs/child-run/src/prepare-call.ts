import type { ChildState } from '#lib/evaluation';
import { type BodyOf, canonicalJson, type Draft, type LedgerRef, NO_SPEND } from '#lib/ledger';
import { inputTokensUpperBound, type ModelRequest, pricingOf, requestDigest, worstCase } from '#lib/providers';
import type { CallKey } from './actions.js';
import { agentRequest } from './agent-request.js';
import { toBlob } from './blob.js';
import { type Amount, chargedOf, type Exhausted, NOTHING, outOfTime, plus, shortOf, shortOfSteps } from './budget.js';
import { faultOf, RunFault } from './faults.js';
import { lessonsRequest } from './lessons-request.js';
import { MAX_DATA_BYTES } from './quoted.js';
import { emptyReview, reviewRequest } from './review-request.js';
import { redactAll } from './secrets.js';
import type { Work } from './work.js';

/** A request without what the provider and the budget decide. */
export interface Asking extends Pick<ModelRequest, 'system' | 'messages' | 'tools' | 'structured'> {
  readonly provider: string;
  /** Output tokens, at most. */
  readonly wanted: number;
}

/** Writes the next request of its kind, the same however often it is asked, and weighs the most that it can cost against what is left. */
export async function prepareCall(work: Work, key: CallKey, state: ChildState): Promise<Draft[]> {
  const { budget } = work.run.contract;
  try {
    if (key.purpose === 'agent') {
      const over = shortOfSteps(budget, state) ?? outOfTime(budget, state, work.ports.now());
      if (over !== null) return [exhausted(over)];
    }
    const asking = await askingOf(work, key, state);
    const charged = chargedOf(state);
    const reserved = key.purpose === 'agent' ? await shareOfVerification(work, state) : NOTHING;
    const left = (budget.max_output_tokens ?? Number.POSITIVE_INFINITY) - charged.output - reserved.output;
    const request = requestOf(work, asking, Math.max(1, Math.min(asking.wanted, left)));
    const worst = await worstOf(work, asking.provider, request, state);
    const needed = plus(worst, reserved);
    if (budget.max_cost_nano_usd !== null && needed.cost === null) {
      const message = 'a budget of cost needs the price of every model: add `price` to its provider';
      throw new RunFault('contract', 'price_unknown', message);
    }
    const short = shortOf(budget, charged, needed);
    return short === null
      ? [await startedDraft(work, key, state, asking.provider, request, worst)]
      : refused(key, short);
  } catch (cause) {
    return refused(key, faultOf(cause, 'agent'));
  }
}

function exhausted(body: Exhausted): Draft {
  return { type: 'budget_exhausted', body };
}

/** What is recorded instead of a call: a reviewer who cannot be asked abstains. */
function refused({ purpose, subject, reviewer }: CallKey, why: Exhausted | RunFault): Draft[] {
  const isFault = why instanceof RunFault;
  if (purpose !== 'review' || subject === null || reviewer === null) return [isFault ? why.draft() : exhausted(why)];
  const reason = isFault ? why.message : `what is left of the budget (${why.limit}) does not cover the call`;
  const vote = { reviewer, vote: 'abstain', reason, usage: NO_SPEND } as const;
  const lesson = subject.startsWith('lesson:') ? (subject.slice('lesson:'.length) as LedgerRef) : null;
  return lesson === null
    ? [{ type: 'review_returned', body: { criterion: subject, ...vote } }]
    : [{ type: 'lesson_reviewed', body: { lesson, ...vote } }];
}

function askingOf(work: Work, key: CallKey, state: ChildState): Promise<Asking> {
  switch (key.purpose) {
    case 'agent':
      return agentRequest(work, state);
    case 'review':
      return reviewRequest(work, key, state);
    case 'extraction':
      return lessonsRequest(work, state);
    default:
      return key.purpose satisfies never;
  }
}

function requestOf({ run, redact }: Work, asking: Asking, max_output_tokens: number): ModelRequest {
  const { provider: name, wanted: _, ...parts } = asking;
  const provider = run.contract.providers[name];
  // A recording that is being made asks as whom it records.
  const asked = run.contract.providers[provider?.record_from ?? name];
  const model = provider?.model ?? asked?.model ?? '';
  const temperature = provider?.temperature ?? asked?.temperature ?? null;
  return redactAll({ model, temperature, ...parts, max_output_tokens }, redact);
}

async function worstOf(
  work: Work,
  provider: string,
  request: ModelRequest,
  state: ChildState,
  moreInput = 0,
): Promise<Amount> {
  const input = inputTokensUpperBound(request) + moreInput;
  const output = request.max_output_tokens;
  const pricing = await pricingOf(provider, work.run.contract, state.startedAt);
  return { cost: worstCase(pricing, input, output), input, output };
}

/**
 * What the review criteria still to be judged can take, so that a run that spent its budget can be judged. It is the same in every arm: what lessons
 * cost is not reserved, else the arm that learns would have less for its agent.
 */
async function shareOfVerification(work: Work, state: ChildState): Promise<Amount> {
  const { contract, rendered } = work.run;
  let share = NOTHING;
  for (const criterion of rendered.criteria) {
    if (criterion.kind !== 'review') continue;
    for (const reviewer of contract.panel?.reviewers ?? []) {
      if (!('provider' in reviewer)) continue;
      const empty = emptyReview(reviewer, criterion.question);
      const request = requestOf(work, empty, empty.wanted);
      share = plus(share, await worstOf(work, reviewer.provider, request, state, MAX_DATA_BYTES));
    }
  }
  return share;
}

async function startedDraft(
  work: Work,
  { purpose, subject, reviewer }: CallKey,
  state: ChildState,
  provider: string,
  request: ModelRequest,
  worst: Amount,
): Promise<Draft> {
  return {
    type: 'model_call_started',
    body: {
      call: state.calls.length + 1,
      purpose,
      subject,
      reviewer,
      provider,
      model: request.model,
      prompt: await toBlob(canonicalJson(request), work),
      prompt_digest: requestDigest(request) as BodyOf<'model_call_started'>['prompt_digest'],
      max_input_tokens: worst.input,
      max_output_tokens: worst.output,
      worst_case_nano_usd: worst.cost,
    },
  };
}
