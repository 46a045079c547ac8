import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from './clock.js';
import { Gate, Gates } from './gate.js';

const never = new AbortController().signal;
const limits = { maxConcurrent: 1, requestsPerMinute: null };

/** A clock whose sleepers wake when the test says what time it is. */
function handClock(): Clock & { set(time: number): Promise<void>; sleeping(): number } {
  let time = 0;
  let sleepers: { at: number; wake: () => void }[] = [];
  return {
    now: () => time,
    wall: () => time,
    sleep: (ms, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const sleeper = { at: time + ms, wake: resolve };
      sleepers.push(sleeper);
      signal.addEventListener('abort', () => {
        sleepers = sleepers.filter((one) => one !== sleeper);
        reject(new Error('aborted'));
      });
      return promise;
    },
    async set(now) {
      time = now;
      for (const { at, wake } of sleepers) if (at <= now) wake();
      sleepers = sleepers.filter(({ at }) => at > now);
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    },
    sleeping: () => sleepers.length,
  };
}

describe('a gate', () => {
  test('admits in the order of asking', async () => {
    const gate = new Gate(limits, systemClock);
    const order: number[] = [];
    const calls = [1, 2, 3].map(async (number) => {
      const release = await gate.acquire(never, Number.POSITIVE_INFINITY);
      order.push(number);
      await Promise.resolve();
      release();
      release();
    });
    await Promise.all(calls);
    expect(order).toEqual([1, 2, 3]);
  });

  test('frees one place for one release, however often it is said', async () => {
    const gate = new Gate(limits, systemClock);
    const release = await gate.acquire(never, 1e9);
    const admitted: string[] = [];
    void gate.acquire(never, 1e9).then(() => admitted.push('second'));
    void gate.acquire(never, 1e9).then(() => admitted.push('third'));
    release();
    release();
    await Promise.resolve();
    await Promise.resolve();
    expect(admitted).toEqual(['second']);
  });

  test('lets one leave the queue, and the next one move up', async () => {
    const gate = new Gate(limits, systemClock);
    const release = await gate.acquire(never, 1e9);
    const leaver = new AbortController();
    const left = gate.acquire(leaver.signal, 1e9);
    const next = gate.acquire(never, 1e9);
    leaver.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    release();
    await expect(next).resolves.toBeTypeOf('function');
  });

  test('spaces starts evenly', async () => {
    const clock = handClock();
    const gate = new Gate({ maxConcurrent: 10, requestsPerMinute: 60 }, clock);
    const starts: number[] = [];
    for (let call = 0; call < 3; call++) void gate.acquire(never, 1e9).then(() => starts.push(clock.now()));
    for (const time of [0, 500, 999, 1000, 1500, 2000]) await clock.set(time);
    expect(starts).toEqual([0, 1000, 2000]);
  });

  test('pauses for all, refuses at once whose time is shorter, and keeps no timer when nobody waits', async () => {
    const clock = handClock();
    const gate = new Gate(limits, clock);
    const release = await gate.acquire(never, 1e9);
    const short = gate.acquire(never, 5000);
    const leaver = new AbortController();
    const long = gate.acquire(leaver.signal, 60_000);
    gate.pause(10_000);
    await expect(short).rejects.toMatchObject({ code: 'provider_gave_up' });
    await expect(gate.acquire(never, 9000)).rejects.toMatchObject({ code: 'provider_gave_up' });
    release();
    expect(clock.sleeping()).toBe(1);
    leaver.abort(new Error('left'));
    await expect(long).rejects.toThrow('left');
    expect(clock.sleeping()).toBe(0);
    const later = gate.acquire(never, 60_000);
    await clock.set(9999);
    expect(clock.sleeping()).toBe(1);
    await clock.set(10_000);
    await expect(later).resolves.toBeTypeOf('function');
  });

  test('is one for each provider, as it is reached', () => {
    const gates = new Gates(limits, systemClock);
    const one = { kind: 'openai', base_url: null, model: 'a' };
    expect(gates.of(one)).toBe(gates.of({ ...one }));
    expect(gates.of(one)).not.toBe(gates.of({ ...one, model: 'b' }));
  });
});
