import { expect, test, vi } from 'vitest';
import { Health } from './health.js';

test('a process is ready when it serves and every check is well, and says why not otherwise', async () => {
  let redis: string | null = 'does not answer';
  const health = new Health({
    redis: () => redis,
    log: async () => {
      if (redis !== null) throw new Error('is not caught up');
      return null;
    },
  });
  expect(await health.ready()).toEqual({ ok: false, reasons: { process: 'is starting' } });
  health.serving();
  expect(await health.ready()).toEqual({ ok: false, reasons: { redis: 'does not answer', log: 'is not caught up' } });
  redis = null;
  expect(await health.ready()).toEqual({ ok: true, reasons: {} });
  health.stopping();
  expect(await health.ready()).toEqual({ ok: false, reasons: { process: 'is stopping' } });
  expect(health.live().ok).toBe(true);
});

test('a process that failed is neither live nor ready, and names the first fault', async () => {
  const health = new Health({});
  health.serving();
  health.failed('the disk is full');
  health.failed('another');
  expect(health.live()).toEqual({ ok: false, reasons: { process: 'the disk is full' } });
  expect(await health.ready()).toEqual(health.live());
});

test('a dependency that never answers makes a process not ready, and does not hold up the answer', async () => {
  vi.useFakeTimers();
  try {
    const health = new Health({ registry: () => new Promise(() => {}) });
    health.serving();
    const answer = health.ready();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await answer).toEqual({ ok: false, reasons: { registry: 'did not answer within 2 s' } });
  } finally {
    vi.useRealTimers();
  }
});
