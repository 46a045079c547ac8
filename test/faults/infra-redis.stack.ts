import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openCodec } from '#lib/schemas';
import { type PrivateRedis, startRedis } from '../stack/redis.testkit.js';
import { Deployment } from './deployment.testkit.js';
import { undisturbed } from './outcome.testkit.js';
import { RawProducer } from './raw.testkit.js';
import { Work } from './work.testkit.js';

const PLAN = { repeats: 1, replicates: 3, seed: 17 };
const RUNS = 6;
const LEASE_MS = 3_000;
const PARTITIONS = 3;
const SOON = { timeout: 60_000, interval: 50 };
const { brokers, registry } = inject('stack');

const work = new Work();
let redis: PrivateRedis;
let at: Deployment;

beforeAll(async () => {
  redis = await startRedis();
  const stack = { ...inject('stack'), redis: redis.url };
  at = await Deployment.deploy({ stack, executors: 2, partitions: PARTITIONS, env: { TRUSS_LEASE_TIME: '3s' } });
});
afterAll(async () => {
  await at?.close();
  await redis?.close();
  work.close();
});

test('Redis that comes back empty while runs are under way: nobody takes them over, and nothing runs twice', async () => {
  const contract = work.programContract(10);
  const calm = await undisturbed(contract, PLAN);
  work.clear();
  work.shut();
  const evaluation = await at.request(contract, PLAN);
  await expect.poll(() => work.done('agent').length, SOON).toBe(RUNS);
  const client = new Redis(redis.url, { retryStrategy: () => null });
  client.on('error', () => {});
  const leases = await client.keys(`${at.prefix}lease:*`);
  expect(leases).toHaveLength(RUNS);

  await redis.part.kill();
  await redis.part.start();
  // Every executor is told of every run again, as after a rebalance, while no lease says that it is in good hands.
  const codec = await openCodec({ registry: { url: registry }, prefix: at.prefix });
  const raw = await RawProducer.connect(brokers, at.prefix);
  const began = performance.now();
  for (const lease of leases) {
    const child = lease.slice(`${at.prefix}lease:`.length);
    const command = await codec.encode('eval.child-run.commands', { child_run_id: child, files: [] });
    for (let partition = 0; partition < PARTITIONS; partition++) {
      await raw.put('eval.child-run.commands', { key: child, value: Buffer.from(command) }, partition);
    }
  }
  await raw.close();
  const again = new Redis(redis.url);
  // Whoever runs them says so by itself, within the lease time that takers wait.
  await expect.poll(async () => (await again.keys(`${at.prefix}lease:*`)).length, SOON).toBe(RUNS);
  expect(performance.now() - began).toBeLessThan(2 * LEASE_MS);
  again.disconnect();
  client.disconnect();
  await sleep(2 * LEASE_MS);
  work.open();

  expect(await at.outcomeOf(evaluation)).toEqual(calm);
  const entries = await at.entries(evaluation);
  expect(entries.filter(({ type }) => type === 'writer_changed')).toEqual([]);
  expect(work.done('agent')).toHaveLength(RUNS);
  await at.verify(evaluation);
  for (const service of at.services) await service.ready();
});

test('an executor that dies as Redis comes back empty: its runs are taken over, and not before one lease time', async () => {
  const contract = work.programContract(10);
  const calm = await undisturbed(contract, PLAN);
  work.clear();
  work.shut();
  const evaluation = await at.request(contract, PLAN);
  await expect.poll(() => work.done('agent').length, SOON).toBe(RUNS);
  const [victim] = at.of('executor');
  await redis.part.kill();
  await redis.part.start();
  const came = Date.now();
  await victim?.kill('SIGKILL');
  await sleep(500);
  work.open();

  const outcome = await at.outcomeOf(evaluation);
  expect(outcome.measured).toEqual(calm.measured);
  const entries = await at.entries(evaluation);
  const taken = entries.filter(({ type, ledger }) => type === 'writer_changed' && ledger !== evaluation);
  expect(taken.length).toBeGreaterThan(0);
  for (const { at: when } of taken) expect(Date.parse(when) - came).toBeGreaterThanOrEqual(LEASE_MS - 500);
  // An agent that was killed begins again; no other did.
  expect(work.done('agent')).toHaveLength(RUNS + taken.length);
  await at.verify(evaluation);
});
