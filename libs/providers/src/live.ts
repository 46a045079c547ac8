import type { Provider } from '#lib/contract';
import { readAnswer } from './answer.js';
import { type Clock, MAX_TIMER_MS, systemClock } from './clock.js';
import { ProviderError } from './errors.js';
import { Gates } from './gate.js';
import { type Key, readKey } from './key.js';
import type { CallOptions, ModelAnswer, ModelPort, ModelRequest } from './port.js';
import { callSettings } from './prompt.js';
import { safeCause } from './redact.js';
import { defaultPolicy, type RetryPolicy, withRetries } from './retry.js';
import { languageModel, type LiveKind } from './sdk.js';
import { badAnswer, openExchange } from './transport.js';

export type LiveDeps = {
  env: Readonly<Record<string, string | undefined>>;
  /** One for all runs of a process; without it, the one that this module holds. */
  gates?: Gates;
  policy?: RetryPolicy;
  clock?: Clock;
  random?: () => number;
};

/** Kept small: an evaluation that wants more says so, and a local model answers one at a time anyway. */
const processGates = new Gates({ maxConcurrent: 8, requestsPerMinute: null }, systemClock);

/** Why a call ends early: distinguished from the caller's own abort. */
const OUT_OF_TIME = Symbol('out of time');

/**
 * A model behind an address.
 * @throws ProviderError `provider_key_missing`
 */
export function openLive(provider: Provider & { kind: LiveKind }, deps: LiveDeps): ModelPort {
  const { kind, base_url: baseUrl } = provider;
  const key = readKey(provider.api_key_env, kind === 'anthropic' ? 'x-api-key' : 'authorization', deps.env);
  const { policy = defaultPolicy, clock = systemClock, random = Math.random } = deps;
  const gate = (deps.gates ?? processGates).of(provider);

  async function attempt(request: ModelRequest, signal: AbortSignal, timeoutMs: number) {
    const exchange = openExchange(key, () => clock.wall());
    // Before the time runs: the first call loads the SDK.
    const model = await languageModel(kind, baseUrl, request.model, exchange.fetch);
    const timer = new AbortController();
    const alarm = setTimeout(() => timer.abort(), Math.min(Math.ceil(timeoutMs), MAX_TIMER_MS));
    try {
      const result = await model.doGenerate(callSettings(request, AbortSignal.any([signal, timer.signal])));
      if (exchange.body === null) throw badAnswer('nothing');
      return readAnswer(kind, result, exchange.body, key);
    } catch (error) {
      const failure = exchange.failure ?? error;
      if (failure instanceof ProviderError && failure.code !== 'provider_aborted') throw failure;
      if (signal.aborted) throw stopped(signal, key, true);
      if (timer.signal.aborted) {
        const message = `The provider did not answer within ${Math.ceil(timeoutMs / 1000)} s.`;
        throw new ProviderError('provider_timeout', message, { maybeCharged: true });
      }
      // What is left is an answer that the SDK cannot read, or a request that it cannot write.
      throw exchange.body === null
        ? new ProviderError('provider_bad_request', 'The request cannot be put to this provider.', {
            cause: safeCause(error, key.redact),
          })
        : badAnswer(
            'JSON of another shape',
            safeCause(error, () => 'it does not fit the protocol'),
          );
    } finally {
      clearTimeout(alarm);
    }
  }

  return {
    async call(request: ModelRequest, options: CallOptions): Promise<ModelAnswer> {
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(OUT_OF_TIME), Math.min(options.deadlineMs, MAX_TIMER_MS));
      const signal = AbortSignal.any([options.signal, deadline.signal]);
      const until = clock.now() + options.deadlineMs;
      try {
        const stop = () => stopped(signal, key, false);
        const setting = { policy, clock, random, gate, signal, until, stopped: stop };
        return await withRetries((timeoutMs) => attempt(request, signal, timeoutMs), setting);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** @param sent whether a request was under way */
function stopped(signal: AbortSignal, key: Key, sent: boolean): ProviderError {
  if (signal.reason !== OUT_OF_TIME) {
    const cause = safeCause(signal.reason, key.redact);
    return new ProviderError('provider_aborted', 'The call was stopped.', { cause, maybeCharged: sent });
  }
  return sent
    ? new ProviderError('provider_timeout', 'The provider did not answer in the time that the run had left.', {
        maybeCharged: true,
      })
    : new ProviderError('provider_gave_up', 'Gave up: the time of the run ended while the call waited for its turn.');
}
