import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Redis } from 'ioredis';
import type { EventLog, ScannedRecord } from '#lib/event-log';
import { openRedis } from '#lib/event-log/redis';
import type { Views } from '#lib/views';
import { createRedisViews } from '#lib/views/redis';
import { ProjectorWorld } from '../../../projector/src/projector.testkit.js';
import { type RedisServer, redisServer } from '../../../../libs/event-log/src/redis/server.testkit.js';
import { type Evaluated, evaluate } from '../../../../libs/verification/src/evaluation.testkit.js';
import { openTerminal } from '../terminal.js';
import { runRebuild } from './rebuild.js';

/** Generous, since other tests share the machine. */
const SOON = { timeout: 20_000 };

let server: RedisServer;
let redis: Redis;
let views: Views;
let evaluated: Evaluated;
beforeAll(async () => {
  server = await redisServer();
  redis = openRedis({ url: server.url });
  evaluated = await evaluate();
});
beforeEach(async () => {
  await connected();
  views = createRedisViews(redis, { prefix: `t-${randomUUID()}.`, deadlineMs: 500 });
});
afterAll(async () => {
  redis.disconnect();
  await server.remove();
});

const connected = () => expect.poll(() => redis.status, SOON).toBe('ready');
const status = async () => (await views.evaluation(evaluated.evaluation))?.status;

async function* byEvaluation(log: EventLog): AsyncGenerator<readonly ScannedRecord[]> {
  for await (const evaluation of log.evaluations()) {
    for await (const record of log.records(evaluation)) yield [{ ...record, evaluation }];
  }
}

/** Rebuilds the views from the world's log; returns what was said of the ones before. */
async function rebuild({ open, keys }: ProjectorWorld): Promise<string[]> {
  const said: string[] = [];
  const { out, err } = openTerminal();
  const quiet = { ...out, write: async (text: string) => void said.push(text) };
  const attachment = (sha256: string) => open.log.attachment(sha256);
  await runRebuild(
    {},
    { scan: byEvaluation(open.log), keys, attachment, views },
    { out: quiet, err: { ...err, write: async () => {} } },
  );
  return said;
}

test('a Redis that came back empty in the middle of an evaluation has all of it again, as a rebuild finds', async () => {
  const world = new ProjectorWorld(evaluated);
  await world.projector(views);
  const accepted = await world.accept();
  await world.append(evaluated.entries.slice(0, 10));
  await expect.poll(status, SOON).toBe('open');
  await server.kill();
  await world.append(evaluated.entries.slice(10, 20));
  await server.start();
  await connected();
  await expect.poll(() => views.ledgers(evaluated.evaluation), SOON).not.toEqual([]);
  await world.append(evaluated.entries.slice(20, -1));
  await expect.poll(() => world.committed, SOON).toBe(accepted + 1);
  expect(await status()).toBe('complete');
  expect(await rebuild(world)).toEqual([]);
  expect(await world.close()).toEqual([]);
});

test('a Redis that came back empty after an evaluation lacks it until a rebuild, which says so', async () => {
  const world = new ProjectorWorld(evaluated);
  await world.projector(views);
  const accepted = await world.accept();
  await world.append(evaluated.entries.slice(0, -1));
  await expect.poll(() => world.committed, SOON).toBe(accepted + 1);
  await server.kill();
  await server.start();
  await connected();
  expect(await views.list()).toEqual([]);
  expect(await rebuild(world)).toEqual([`${evaluated.evaluation} is in the log and was not shown\n`]);
  expect(await status()).toBe('complete');
  expect(await world.close()).toEqual([]);
});

test('a rebuild beside a projector at work loses nothing of what it writes meanwhile', async () => {
  const world = new ProjectorWorld(evaluated);
  await world.projector(views);
  const accepted = await world.accept();
  const steps = evaluated.entries.slice(0, -1);
  const writing = (async () => {
    for (const entry of steps) {
      await world.append([entry]);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  for (let i = 0; i < 5; i++) await rebuild(world);
  await writing;
  await expect.poll(() => world.committed, SOON).toBe(accepted + 1);
  expect(await status()).toBe('complete');
  expect(await rebuild(world)).toEqual([]);
  expect(await world.close()).toEqual([]);
});
