import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { describeLeases } from '../log-contract.testkit.js';
import type { Leases } from '../port.js';
import { openRedis } from './connection.js';
import { createRedisLeases } from './leases.js';
import { type RedisServer, redisServer } from './server.testkit.js';

const opened: Redis[] = [];
async function connected(url: string): Promise<Redis> {
  const redis = openRedis({ url });
  opened.push(redis);
  await expect.poll(() => redis.status).toBe('ready');
  return redis;
}
afterAll(() => {
  for (const redis of opened) redis.disconnect();
});

const fresh = () => `t-${randomUUID()}.`;

describeLeases('redis', async () => ({
  leases: createRedisLeases(await connected(inject('stack').redis), { prefix: fresh() }),
  elapse: (ms) => sleep(ms),
}));

describe('of many processes that ask at once', () => {
  test('exactly one gets the lease, and each lease has its own', async () => {
    const { redis } = inject('stack');
    const prefix = fresh();
    const processes = await Promise.all(
      Array.from({ length: 8 }, async () => createRedisLeases(await connected(redis), { prefix })),
    );
    for (const name of ['one', 'two', 'three']) {
      const answers = await Promise.all(processes.map((leases, i) => leases.hold(name, `holder ${i}`, 5_000, false)));
      expect(answers.filter(Boolean)).toHaveLength(1);
    }
  });
});

describe('of a Redis that fails', () => {
  const TTL = 900;
  let server: RedisServer;
  let faults: unknown[] = [];
  const clients: Redis[] = [];
  beforeAll(async () => {
    server = await redisServer();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    faults = [];
    await server.kill();
    await server.start();
  });
  afterAll(() => server.remove());

  async function process(deadlineMs = 300): Promise<{ leases: Leases; redis: Redis }> {
    const redis = await connected(server.url);
    clients.push(redis);
    return {
      redis,
      leases: createRedisLeases(redis, { prefix: '', deadlineMs, fault: (error) => faults.push(error) }),
    };
  }
  const back = (...redis: Redis[]) => expect.poll(() => redis.map(({ status }) => status), { timeout: 10_000 });
  const emptied = async (...redis: Redis[]) => {
    await server.kill();
    await server.start();
    await back(...redis).toEqual(redis.map(() => 'ready'));
  };

  test('nobody takes over from a Redis that is new, or that came back empty, for one lease time; fresh work begins at once', async () => {
    const { leases: alive, redis: one } = await process();
    const { leases: newcomer, redis: two } = await process();
    expect(await newcomer.hold('begun', 'b', TTL, true)).toBe(false);
    await sleep(TTL + 100);
    expect(await newcomer.hold('begun', 'b', TTL, true)).toBe(true);
    await newcomer.release('begun', 'b');

    expect(await alive.hold('child', 'a', TTL, false)).toBe(true);
    await emptied(one, two);
    const { leases: stranger } = await process();
    expect(await stranger.hold('child', 'c', TTL, true)).toBe(false);
    expect(await stranger.hold('another child', 'c', TTL, false)).toBe(true);
    // Whoever is alive renews before the lease time is over, and is known again.
    expect(await alive.hold('child', 'a', 10 * TTL, true)).toBe(true);
    await sleep(TTL + 100);
    expect(await stranger.hold('child', 'c', TTL, true)).toBe(false);
    await alive.release('child', 'a');
    expect(await stranger.hold('child', 'c', TTL, true)).toBe(true);
  });

  test('a process that lost the connection takes over nothing for one lease time after it is back, though Redis forgot nothing', async () => {
    const { leases: alive } = await process();
    const { leases: other, redis } = await process();
    expect(await alive.hold('child', 'a', 100, false)).toBe(true);
    await sleep(TTL + 200);
    redis.stream.destroy();
    await expect.poll(() => redis.status).not.toBe('ready');
    await back(redis).toEqual(['ready']);
    // The lease ran out while nobody could renew it.
    expect(await other.hold('child', 'b', TTL, true)).toBe(false);
    expect(await other.hold('fresh', 'b', TTL, false)).toBe(true);
    await sleep(TTL + 200);
    expect(await other.hold('child', 'b', TTL, true)).toBe(true);
  });

  test('while Redis is gone, fresh work begins, what runs goes on, nothing is taken over, and no call fails or waits', async () => {
    const { leases, redis } = await process();
    expect(await leases.hold('running', 'a', TTL, false)).toBe(true);
    await server.kill();
    await expect.poll(() => redis.status).not.toBe('ready');
    const asked = performance.now();
    expect(await leases.hold('running', 'a', TTL, true)).toBe(true);
    expect(await leases.hold('fresh', 'a', TTL, false)).toBe(true);
    expect(await leases.hold('orphan', 'a', TTL, true)).toBe(false);
    await leases.release('fresh', 'a');
    expect(performance.now() - asked).toBeLessThan(250);
    expect(faults.length).toBeGreaterThan(0);
  });

  test('a run that began while Redis was gone is known to it from its first renewal on', async () => {
    const { leases: runner, redis: one } = await process();
    const { leases: other, redis: two } = await process();
    await server.kill();
    await expect.poll(() => one.status).not.toBe('ready');
    expect(await runner.hold('child', 'a', TTL, false)).toBe(true);
    await server.start();
    await back(one, two).toEqual(['ready', 'ready']);
    expect(await runner.hold('child', 'a', 10 * TTL, true)).toBe(true);
    await sleep(TTL + 100);
    expect(await other.hold('child', 'b', TTL, true)).toBe(false);
  });

  test('a Redis that does not answer costs a call its deadline and no more, and is used again when it does', async () => {
    const { leases } = await process(200);
    server.halt();
    const asked = performance.now();
    expect(await leases.hold('fresh', 'a', TTL, false)).toBe(true);
    expect(await leases.hold('orphan', 'a', TTL, true)).toBe(false);
    expect(performance.now() - asked).toBeLessThan(600);
    server.resume();
    await sleep(TTL + 200);
    expect(await leases.hold('orphan', 'a', TTL, true)).toBe(true);
  });

  test('a lease that was given back while it was asked for is a take-over when it is asked for again', async () => {
    const { leases, redis } = await process();
    const renewing = leases.hold('child', 'a', TTL, false);
    await leases.release('child', 'a');
    await renewing;
    await redis.flushall();
    expect(await leases.hold('child', 'a', TTL, true)).toBe(false);
  });

  test('of two that take over at the same time, one does', async () => {
    const { leases: one } = await process();
    const { leases: two } = await process();
    await one.hold('something', 'a', TTL, false);
    await sleep(TTL + 100);
    const answers = await Promise.all([one.hold('child', 'a', TTL, true), two.hold('child', 'b', TTL, true)]);
    expect(answers.toSorted()).toEqual([false, true]);
  });
});
