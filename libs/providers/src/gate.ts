import type { Clock } from './clock.js';
import { ProviderError } from './errors.js';

export type GateLimits = {
  /** Calls under way at once, at least 1. */
  maxConcurrent: number;
  /** Starts a minute, evenly spaced; `null`: as many as there are. */
  requestsPerMinute: number | null;
};

type Waiting = { until: number; admit: (release: () => void) => void; refuse: (error: unknown) => void };

/**
 * Who may call a provider now: first come, first served, over all runs of the process. A run that waits has one call in the queue for
 * each that it has under way, so none starves another.
 */
export class Gate {
  readonly #queue: Waiting[] = [];
  #active = 0;
  #notBefore = 0;
  #timer: AbortController | null = null;

  constructor(
    private readonly limits: GateLimits,
    private readonly clock: Clock,
  ) {}

  /**
   * Waits for a place; the caller gives it back with the function returned.
   * @param until on the clock: when waiting has no more use
   * @throws ProviderError `provider_gave_up` at once when the provider asked for a pause beyond `until`; else the signal's reason
   */
  acquire(signal: AbortSignal, until: number): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#notBefore > until) return Promise.reject(this.#tooLong(until));
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const leave = (error: unknown) => {
      const index = this.#queue.indexOf(entry);
      if (index !== -1) this.#queue.splice(index, 1);
      if (this.#queue.length === 0) this.#timer?.abort();
      reject(error);
    };
    const onAbort = () => leave(signal.reason);
    const entry: Waiting = {
      until,
      admit: (release) => {
        signal.removeEventListener('abort', onAbort);
        resolve(release);
      },
      refuse: (error) => {
        signal.removeEventListener('abort', onAbort);
        leave(error);
      },
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#queue.push(entry);
    this.#admit();
    return promise;
  }

  /** No call starts before this time on the clock: the provider said so to one, and means all. */
  pause(until: number): void {
    this.#notBefore = Math.max(this.#notBefore, until);
    for (const entry of [...this.#queue]) if (this.#notBefore > entry.until) entry.refuse(this.#tooLong(entry.until));
  }

  #admit(): void {
    while (this.#queue.length > 0 && this.#active < this.limits.maxConcurrent) {
      const now = this.clock.now();
      if (now < this.#notBefore) return this.#admitAt(this.#notBefore);
      const { requestsPerMinute } = this.limits;
      if (requestsPerMinute !== null) this.#notBefore = now + 60_000 / requestsPerMinute;
      this.#active += 1;
      this.#queue.shift()?.admit(this.#releaseOnce());
    }
  }

  #admitAt(time: number): void {
    if (this.#timer !== null) return;
    const timer = new AbortController();
    this.#timer = timer;
    const wake = () => {
      this.#timer = null;
      this.#admit();
    };
    // A rejection is the abort of a timer that nobody waits for.
    this.clock.sleep(time - this.clock.now(), timer.signal).then(wake, wake);
  }

  #releaseOnce(): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#active -= 1;
      this.#admit();
    };
  }

  #tooLong(until: number): ProviderError {
    const now = this.clock.now();
    return gaveUp(this.#notBefore - now, until - now);
  }
}

/** @param waitMs how long the wait would be; @param leftMs what the run has left */
export function gaveUp(waitMs: number, leftMs: number, cause?: ProviderError): ProviderError {
  const seconds = (ms: number) => `${Math.max(0, Math.ceil(ms / 1000))} s`;
  const message = `Gave up: the next attempt would be in ${seconds(waitMs)}, and the run has ${seconds(leftMs)} left; give it more time, or the provider fewer calls.`;
  return new ProviderError('provider_gave_up', message, {
    ...(cause === undefined ? {} : { cause }),
    status: cause?.status ?? null,
    retryAfterMs: cause?.retryAfterMs ?? null,
  });
}

/** The gates of a process: one for each provider, as it is reached. */
export class Gates {
  readonly #gates = new Map<string, Gate>();

  constructor(
    private readonly limits: GateLimits,
    private readonly clock: Clock,
  ) {}

  of(provider: { kind: string; base_url: string | null; model: string | null }): Gate {
    const key = JSON.stringify([provider.kind, provider.base_url, provider.model]);
    let gate = this.#gates.get(key);
    if (gate === undefined) this.#gates.set(key, (gate = new Gate(this.limits, this.clock)));
    return gate;
  }
}
