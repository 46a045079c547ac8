import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openRedis, redisReady } from '#lib/event-log/redis';
import { change, evaluationNamed, ledgerRow } from '../fixtures.testkit.js';
import { redisServer } from '../../../event-log/src/redis/server.testkit.js';
import { describeViews } from '../views-contract.testkit.js';
import { createRedisViews } from './views.js';

let redis: Redis;
beforeAll(async () => {
  redis = openRedis({ url: inject('stack').redis });
  await once(redis, 'ready');
});
afterAll(() => redis.disconnect());

const fresh = () => `t-${randomUUID()}.`;
const one = evaluationNamed('one');

describeViews('redis', async () => createRedisViews(redis, { prefix: fresh() }));

test('deployments with prefixes of their own share a Redis and nothing in it', async () => {
  const [a, b] = [fresh(), fresh()].map((prefix) => createRedisViews(redis, { prefix })) as [never, never];
  const [first, second] = [a, b] as ReturnType<typeof createRedisViews>[];
  await first?.write(change(one, { base: null, position: 5 }));
  expect(await second?.list()).toEqual([]);
});

test('of many writers at once, each of one log, the views keep the furthest, whole', async () => {
  const prefix = fresh();
  const writers = Array.from({ length: 4 }, () => createRedisViews(redis, { prefix }));
  const child = `${one}.0.on.1.1`;
  const at = (position: number) =>
    change(one, {
      base: null,
      position,
      summary: String(position),
      rows: [ledgerRow(one, position), ledgerRow(child, position)],
    });
  const views = createRedisViews(redis, { prefix });
  const seen = new Set<string>();
  const reading = (async () => {
    for (let i = 0; i < 100; i++) seen.add((await views.ledgers(one)).map(({ entries }) => entries).join());
  })();
  await Promise.all(
    writers.map(async (writer, i) => {
      for (let position = i; position < 100; position += 1 + (i % 2)) await writer.write(at(position));
    }),
  );
  await reading;
  expect((await views.evaluation(one))?.summary).toBe('99');
  for (const entries of seen) expect(['', ...Array.from({ length: 100 }, (_, n) => `${n},${n}`)]).toContain(entries);
});

test('a version that nobody sees any more is gone from Redis, and so is one whose builder died', async () => {
  const prefix = fresh();
  const views = createRedisViews(redis, { prefix });
  for (let i = 0; i < 250; i++) await views.write(change(evaluationNamed(`e${i}`), { base: null, position: i }));
  const died = await views.next();
  await died.write(change(one, { base: null, position: 5, rows: [ledgerRow(one)] }));
  const next = await views.next();
  await next.write(change(one, { base: null, position: 5, rows: [ledgerRow(one)] }));
  await next.show();
  const keys = (await redis.keys(`${prefix}*`)).map((key) => key.slice(`${prefix}views:1:`.length)).toSorted();
  const version = next.version;
  expect(keys).toEqual(
    ['live', 'versions', `${version}:evaluation:${one}`, `${version}:ledger:${one}`, `${version}:order`].toSorted(),
  );
  expect(await redis.smembers(`${prefix}views:1:versions`)).toEqual([version]);
});

test('a user with the rights that docs/adr/0006 lists can do all of it, and nothing else', async () => {
  const prefix = 'cell.';
  const rights =
    '+hello +client|setname +info +ping +eval +get +set +del +hget +hset +hvals +hgetall +zadd +zcard +zrange +zrem +zrevrange +zrevrank +sadd +srem +smembers +unlink';
  const user = ['--user', 'viewer', 'on', '>secret', `~${prefix}views:*`, '-@all', ...rights.split(' ')];
  const server = await redisServer({ args: ['--user', 'default', 'off', ...user] });
  const client = openRedis({ url: server.url, username: 'viewer', password: 'secret', name: 'v1' });
  await redisReady(client, 5_000);
  const views = createRedisViews(client, { prefix });
  await views.write(change(one, { base: null, position: 5, rows: [ledgerRow(one)] }));
  expect(await views.list()).toHaveLength(1);
  expect(await views.list({ after: one })).toEqual([]);
  expect(await views.ledgers(one)).toHaveLength(1);
  const dropped = await views.next();
  await dropped.discard();
  const next = await views.next();
  await next.write(change(one, { base: null, position: 5, summary: 'new', rows: [ledgerRow(one)] }));
  const found: string[] = [];
  for await (const { kind } of next.differences()) found.push(kind);
  expect(found).toEqual(['differs']);
  await next.show();
  expect((await views.evaluation(one))?.summary).toBe('new');
  await expect(client.get(`${prefix}lease:child`)).rejects.toThrow('NOPERM');
  client.disconnect();
  await server.remove();
});

test('a Redis that cannot be reached is said to be, at once', async () => {
  const gone = openRedis({ url: 'redis://127.0.0.1:1' });
  const views = createRedisViews(gone, { prefix: '' });
  await expect(views.list()).rejects.toMatchObject({ code: 'views_unavailable', retryable: true });
  gone.disconnect();
});

test('a row that this version did not write is refused and not shown', async () => {
  const prefix = fresh();
  const views = createRedisViews(redis, { prefix });
  await views.write(change(one, { base: null, position: 5 }));
  await redis.hset(`${prefix}views:1:0:evaluation:${one}`, 'evaluation', '{"eval_run_id":7}');
  await expect(views.evaluation(one)).rejects.toMatchObject({ code: 'views_malformed' });
});
