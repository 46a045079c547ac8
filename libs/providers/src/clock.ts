import { setTimeout as wait } from 'node:timers/promises';

/** Time and chance, passed in. */
export type Clock = {
  /** Milliseconds that only ever go up. */
  now(): number;
  /** Milliseconds since 1970. */
  wall(): number;
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
};

/** What one timer can wait: 24.8 days. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  sleep: async (ms, signal) => {
    for (let left = ms; left > 0; left -= MAX_TIMER_MS) await wait(Math.min(left, MAX_TIMER_MS), undefined, { signal });
  },
};
