import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Deployment } from './deployment.testkit.js';
import { type Calm, calmOf, eventually, expectCalm, runsOf } from './disturbed.testkit.js';
import { PaidModel, Work } from './work.testkit.js';

const PLAN = { repeats: 3, replicates: 3, seed: 11 };
/** Three replicates of two arms, side by side. */
const TOGETHER = 6;
const LEASE_MS = 3_000;
const work = new Work();
let model: PaidModel;
let contract: string;
let calm: Calm;
let at: Deployment;

beforeAll(async () => {
  model = await PaidModel.start(work);
  contract = work.programContract(300);
  calm = await calmOf(contract, PLAN, model);
  at = await Deployment.deploy({ stack: inject('stack'), partitions: 6, env: { TRUSS_CONCURRENCY: '8' } });
});
afterAll(async () => {
  await at?.close();
  await model?.close();
  work.close();
});

test('one executor, then three, then one, while long runs are going: no run is run twice', async () => {
  work.clear();
  work.shut();
  const evaluation = await at.request(contract, PLAN);
  await eventually(() => work.done('agent').length).toBe(TOGETHER);
  const [first] = at.of('executor');
  const [second, third] = await Promise.all([at.start('executor'), at.start('executor')]);
  // Partitions went to the others, and the commands of the runs under way with them: they wait, for longer than a lease.
  await eventually(() => first?.lines('partitions are assigned to another process').length).toBeGreaterThanOrEqual(1);
  const again = () =>
    [second, third].flatMap((one) => one.lines('record taken')).filter(({ group }) => group === 'executor').length;
  await eventually(again).toBeGreaterThanOrEqual(1);
  await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS));
  expect(work.done('agent')).toHaveLength(TOGETHER);
  work.open();

  // In the next repeat others run some. Two of three go while agents are at it.
  const others = () => runsOf(second, evaluation).size + runsOf(third, evaluation).size;
  await eventually(others).toBeGreaterThanOrEqual(1);
  const left = await Promise.all([first?.kill('SIGTERM'), second.kill('SIGTERM')]);
  for (const ended of left) expect(ended).toMatchObject({ code: 0 });
  const { taken } = await expectCalm(at, evaluation, calm, { model, before: model.calls.length });
  expect(at.of('executor')).toEqual([third]);
  // Every run came to its end once. Only an agent that took too long to be waited for at a SIGTERM was begun again, by whoever took its run over.
  const runs = 2 * PLAN.repeats * PLAN.replicates;
  expect(new Set(work.done('over')).size).toBe(runs);
  expect(work.done('over')).toHaveLength(runs);
  expect(work.done('agent').length - runs).toBeLessThanOrEqual(taken.runs);
});
