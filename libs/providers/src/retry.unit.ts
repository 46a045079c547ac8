import { expect, test } from 'vitest';
import type { Clock } from './clock.js';
import { ProviderError } from './errors.js';
import { Gate } from './gate.js';
import { defaultPolicy, withRetries } from './retry.js';

test('an attempt that had all the time that was left and timed out is a timeout, though its timer went off a moment early', async () => {
  let now = 0;
  const clock: Clock = { now: () => now, wall: () => now, sleep: async () => {} };
  const gate = new Gate({ maxConcurrent: 1, requestsPerMinute: null }, clock);
  const stopped = () => new ProviderError('provider_aborted', 'stopped');
  const signal = new AbortController().signal;
  const attempt = async () => {
    now = 599.5;
    throw new ProviderError('provider_timeout', 'no answer', { maybeCharged: true });
  };
  const calling = withRetries(attempt, {
    policy: defaultPolicy,
    clock,
    random: () => 0.5,
    gate,
    signal,
    until: 600,
    stopped,
  });
  await expect(calling).rejects.toMatchObject({ code: 'provider_timeout', attempts: 1, unmeasuredAttempts: 1 });
});
