import type { Clock } from './clock.js';
import { ProviderError } from './errors.js';
import { type Gate, gaveUp } from './gate.js';

export type RetryPolicy = {
  maxAttempts: number;
  /** The wait before attempt n + 1 is drawn evenly from 0 to min(capMs, baseMs * 2^(n-1)): "full jitter". */
  baseMs: number;
  capMs: number;
  /** For one attempt, from its start to the last byte. */
  attemptTimeoutMs: number;
};

/** Shorter than the 300 s after which the HTTP client gives up by itself. */
export const defaultPolicy: RetryPolicy = { maxAttempts: 6, baseMs: 500, capMs: 30_000, attemptTimeoutMs: 240_000 };

/** A provider that hangs once may be lucky; one that hangs twice costs only time, and perhaps money. */
const MAX_TIMEOUTS = 2;

export type Tries = { retries: number; unmeasured_attempts: number };

export type RetrySetting = {
  policy: RetryPolicy;
  clock: Clock;
  /** From 0 to less than 1. */
  random: () => number;
  gate: Gate;
  signal: AbortSignal;
  /** On the clock. */
  until: number;
  /** What to throw when the signal ended a wait. */
  stopped: () => ProviderError;
};

/**
 * Makes a call until it succeeds, fails for good, or cannot succeed in the time left. `Retry-After` is waited for whatever its size, and
 * holds back all other calls to that provider; the jitter comes on top, so that they do not all return at once.
 * @throws ProviderError the last failure with its number of attempts, or `provider_gave_up` without waiting in vain
 */
export async function withRetries<T>(
  attempt: (timeoutMs: number) => Promise<T>,
  { policy, clock, random, gate, signal, until, stopped }: RetrySetting,
): Promise<T & Tries> {
  let attempts = 0;
  let charged = 0;
  let timeouts = 0;
  // The last attempt was given all the time that the run had left.
  let last = false;
  const counted = (error: ProviderError) => Object.assign(error, { attempts, unmeasuredAttempts: charged });
  for (;;) {
    let release: () => void;
    try {
      release = await gate.acquire(signal, until);
    } catch (error) {
      throw counted(error instanceof ProviderError ? error : stopped());
    }
    let failure: ProviderError;
    try {
      const left = until - clock.now();
      if (left <= 0) throw gaveUp(0, left);
      attempts += 1;
      last = left <= policy.attemptTimeoutMs;
      const result = await attempt(Math.min(policy.attemptTimeoutMs, left));
      return { ...result, retries: attempts - 1, unmeasured_attempts: charged };
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      failure = error;
      // Before the place is free for another.
      if (failure.retryAfterMs !== null) gate.pause(clock.now() + failure.retryAfterMs);
    } finally {
      release();
    }
    if (failure.maybeCharged) charged += 1;
    if (failure.code === 'provider_timeout') timeouts += 1;
    if (!failure.retriable || attempts >= policy.maxAttempts || timeouts >= MAX_TIMEOUTS) throw counted(failure);
    const jitter = random() * Math.min(policy.capMs, policy.baseMs * 2 ** (attempts - 1));
    const wait = (failure.retryAfterMs ?? 0) + jitter;
    const left = until - clock.now();
    // A timer may go off a moment before the clock says so: that moment is no time left.
    if (left <= 0 || (last && failure.code === 'provider_timeout')) throw counted(failure);
    if (wait >= left) throw counted(gaveUp(wait, left, failure));
    await clock.sleep(wait, signal).catch(() => {
      throw counted(stopped());
    });
  }
}
