import { type ChildState, lessonBytesOf, promptLayers } from '#lib/evaluation';
import { type BodyOf, canonicalJson, type Draft, type LedgerRef, NO_SPEND } from '#lib/ledger';
import { type ModelRequest, requestDigest } from '#lib/providers';
import type { CallKey } from './actions.js';
import { agentRequest } from './agent-request.js';
import { toBlob } from './blob.js';
import { type Amount, chargedOf, type Exhausted, NOTHING, outOfTime, plus, shortOf, shortOfSteps } from './budget.js';
import { faultOf, RunFault } from './faults.js';
import { lessonsRequest } from './lessons-request.js';
import { reviewRequest } from './review-request.js';
import { redactAll } from './secrets.js';
import { type Asking, requestOf, shareOfVerification, worstOf } from './worst-case.js';
import type { Work } from './work.js';

/** Writes the next request of its kind, the same however often it is asked, and weighs the most that it can cost against what is left. */
export async function prepareCall(work: Work, key: CallKey, state: ChildState): Promise<Draft[]> {
  const { contract, rendered } = work.run;
  const { budget } = contract;
  const { criteria } = rendered;
  const at = state.startedAt;
  try {
    if (key.purpose === 'agent') {
      const over = shortOfSteps(budget, state) ?? outOfTime(budget, state, work.ports.now());
      if (over !== null) return [exhausted(over)];
    }
    const asking = await askingOf(work, key, state);
    const charged = chargedOf(state);
    const reserved = key.purpose === 'agent' ? await shareOfVerification(contract, criteria, at) : NOTHING;
    const left = (budget.max_output_tokens ?? Number.POSITIVE_INFINITY) - charged.output - reserved.output;
    const request = redactAll(requestOf(contract, asking, Math.max(1, Math.min(asking.wanted, left))), work.redact);
    const worst = await worstOf(contract, asking.provider, request, at);
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
      ...(purpose === 'agent' ? { layers: promptLayers(request, lessonBytesOf(state)) } : {}),
      max_input_tokens: worst.input,
      max_output_tokens: worst.output,
      worst_case_nano_usd: worst.cost,
    },
  };
}
