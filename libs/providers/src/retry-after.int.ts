import { describe, expect, test } from 'vitest';
import { fakeClock, fine, raw, scene } from './model.testkit.js';

describe('Retry-After', () => {
  test('of a second is waited for, with the jitter on top', async () => {
    const { call, clock } = await scene([raw(429, '', { 'retry-after': '1' }), fine]);
    expect((await call()).retries).toBe(1);
    expect(clock.waits).toEqual([1250]);
  });

  test('of an hour is waited for by a run that has the time', async () => {
    const { call, clock } = await scene([raw(429, '', { 'retry-after': '3600' }), fine]);
    expect((await call({}, { deadlineMs: 86_400_000 })).text).toBe('fine');
    expect(clock.waits).toEqual([3_600_250]);
  });

  test('of an hour makes a run that has less give up at once, and says so', async () => {
    const { fails, clock } = await scene([raw(429, '', { 'retry-after': '3600' }), fine]);
    const error = await fails({}, { deadlineMs: 600_000 });
    expect(error).toMatchObject({ code: 'provider_gave_up', status: 429, retriable: false, attempts: 1 });
    expect(error.message).toContain('the next attempt would be in 3601 s, and the run has 600 s left');
    expect(error.cause).toMatchObject({ code: 'provider_rate_limited' });
    expect(clock.waits).toEqual([]);
  });

  test('as a date counts from the date of the answer, whatever the clock here says', async () => {
    const headers = { date: 'Tue, 01 Jan 2030 00:00:00 GMT', 'retry-after': 'Tue, 01 Jan 2030 00:01:30 GMT' };
    const { call, clock } = await scene([raw(503, '', headers), fine]);
    await call({}, { deadlineMs: 600_000 });
    expect(clock.waits).toEqual([90_250]);
  });

  test.for(['soon', '-5', '', '1.5'])('that makes no sense (%j) is as none', async (value) => {
    const { call, clock } = await scene([raw(429, '', { 'retry-after': value }), fine]);
    await call();
    expect(clock.waits).toEqual([250]);
  });

  test('to one call holds back all others of that provider', async () => {
    const clock = fakeClock();
    const times: number[] = [];
    const { call } = await scene(
      (_, index) => {
        times.push(clock.now());
        return index === 0 ? raw(429, '', { 'retry-after': '20' }) : fine;
      },
      { clock, limits: { maxConcurrent: 1 } },
    );
    await Promise.all([call(), call({ system: 'another run' })]);
    expect(times.map((time) => time >= 20_000)).toEqual([false, true, true]);
  });

  test('to one call refuses others that lack the time, without asking', async () => {
    const { fails, endpoint } = await scene([raw(429, '', { 'retry-after': '20' })]);
    await fails({}, { deadlineMs: 5000 });
    expect(await fails({}, { deadlineMs: 5000 })).toMatchObject({ code: 'provider_gave_up', attempts: 0 });
    expect(endpoint.asked).toHaveLength(1);
  });
});
