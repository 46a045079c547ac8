import type { CallState, ChildState } from '#lib/evaluation';
import { type BodyOf, type Draft, NO_SPEND, UNMEASURED, type Usage } from '#lib/ledger';
import { type ModelAnswer, type ModelRequest, priceOf, pricingOf, ProviderError } from '#lib/providers';
import { toBlob } from './blob.js';
import { timeLeft } from './budget.js';
import { laneOfCall, type Said, transcript } from './calls.js';
import { faultOf, RunFault } from './faults.js';
import type { Work } from './work.js';

/** Of one answer, these are done; a model that asks for more is told of no others. */
const MAX_TOOL_CALLS = 32;

/** Makes a call whose intent is confirmed. Whatever comes of it is `model_call_completed`, except an abort: then nothing is. */
export async function makeCall(work: Work, number: number, state: ChildState, abort: AbortSignal): Promise<Draft[]> {
  const call = state.calls.find(({ started }) => started.call === number);
  if (call?.outcome !== 'open') throw new Error(`call ${number} is none to make`);
  const { started } = call;
  try {
    const request = JSON.parse(await transcript(work, started.prompt)) as ModelRequest;
    const answer = await ask(work, call, state, request, abort);
    return [{ type: 'model_call_completed', body: await answered(work, started, answer, state) }];
  } catch (cause) {
    if (abort.aborted) return [];
    return [{ type: 'model_call_completed', body: failed(started, cause) }];
  }
}

async function ask(
  work: Work,
  { started }: CallState,
  state: ChildState,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const { run, ports, limits } = work;
  const { providers, budget, evaluation } = run.contract;
  if (providers[started.provider]?.kind === 'replay' && ports.contractDirectory(run.contractDigest) === null) {
    const why = ports.contractProblem?.(run.contractDigest) ?? 'run it where the files of the contract are';
    const message = `the recording is not on this machine: ${why}`;
    throw new RunFault('contract', 'contract_not_here', message);
  }
  const own = timeLeft(budget, state, ports.now()) ?? evaluation.deadline_ms;
  return ports.model(started.provider).call(request, {
    signal,
    deadlineMs: Math.max(1, started.purpose === 'agent' ? own : limits.callMs),
    lane: laneOfCall(work, started),
    occurrence: askedBefore(work, started, state),
  });
}

/** How often the same was asked before, and answered. */
function askedBefore(work: Work, started: BodyOf<'model_call_started'>, state: ChildState): number {
  const lane = laneOfCall(work, started);
  return state.calls.filter(
    (call) =>
      typeof call.outcome === 'object' &&
      call.outcome.body.outcome === 'answered' &&
      call.started.prompt_digest === started.prompt_digest &&
      laneOfCall(work, call.started) === lane,
  ).length;
}

async function answered(
  work: Work,
  started: BodyOf<'model_call_started'>,
  answer: ModelAnswer,
  state: ChildState,
): Promise<BodyOf<'model_call_completed'>> {
  const pricing = await pricingOf(started.provider, work.run.contract, state.startedAt);
  const { cost_nano_usd, basis } = priceOf(pricing, answer.usage);
  const { input_tokens, output_tokens, cached_input_tokens, reasoning_tokens } = answer.usage;
  const isCounted = input_tokens !== null && output_tokens !== null;
  const isMeasured = isCounted && cost_nano_usd !== null;
  const usage: Usage = {
    cost_nano_usd,
    steps: stepsOf(started),
    input_tokens,
    output_tokens,
    unmeasured_calls: answer.unmeasured_attempts + (isCounted ? 0 : 1),
    ...(isCounted && !isMeasured ? { unpriced_calls: 1 } : {}),
  };
  const said: Said = { text: answer.text, tool_calls: answer.tool_calls.slice(0, MAX_TOOL_CALLS) };
  const more = answer.tool_calls.length - said.tool_calls.length;
  const notes = [
    ...answer.warnings,
    ...(more > 0 ? [`${more} more tool calls are left out`] : []),
    ...(isCounted || answer.raw_usage === null ? [] : [`usage as reported: ${answer.raw_usage}`]),
  ];
  return {
    call: started.call,
    outcome: 'answered',
    code: null,
    reason: notes.join('; '),
    answer: await toBlob(JSON.stringify(said), work),
    tool_calls: said.tool_calls.length,
    finish: answer.finish,
    model: answer.model,
    retries: answer.retries,
    usage,
    cached_input_tokens,
    reasoning_tokens,
    price_basis: basis,
  };
}

/** @throws CannotGoOn where the disk is full or the log failed */
function failed(started: BodyOf<'model_call_started'>, cause: unknown): BodyOf<'model_call_completed'> {
  const known = cause instanceof ProviderError ? cause : null;
  const { code, message } = known ?? faultOf(cause, 'agent');
  const lost = known?.unmeasuredAttempts ?? 0;
  return {
    call: started.call,
    outcome: 'failed',
    code,
    reason: message,
    answer: { text: '' },
    tool_calls: 0,
    finish: '',
    model: null,
    retries: Math.max(0, (known?.attempts ?? 0) - 1),
    usage: lost === 0 ? NO_SPEND : { ...UNMEASURED, unmeasured_calls: lost },
    cached_input_tokens: null,
    reasoning_tokens: null,
    price_basis: '',
  };
}

function stepsOf({ purpose }: BodyOf<'model_call_started'>): number {
  return purpose === 'agent' ? 1 : 0;
}
