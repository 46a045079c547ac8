import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { Deployment } from './deployment.testkit.js';
import { busiest, type Calm, calmOf, eventually, expectCalm, runsOf } from './disturbed.testkit.js';
import { dyingAfter } from './service.testkit.js';
import { isAgent, PaidModel, Work } from './work.testkit.js';

const PLAN = { repeats: 3, replicates: 2, seed: 11 };
/** Two replicates of two arms, side by side. */
const TOGETHER = 4;
const work = new Work();
let model: PaidModel;
let contract: string;
let calm: Calm;
let at: Deployment;

beforeAll(async () => {
  model = await PaidModel.start(work);
  contract = work.modelContract(model.url);
  calm = await calmOf(contract, PLAN, model);
  at = await Deployment.deploy({ stack: inject('stack'), executors: 2 });
});
afterEach(() => work.open());
afterAll(async () => {
  await at?.close();
  await model?.close();
  work.close();
});

test('an executor killed in the middle of model calls: another goes on, and exactly those calls are paid twice and unmeasured', async () => {
  const before = model.calls.length;
  const hold = model.hold((asked) => isAgent(asked, 1));
  const evaluation = await at.request(contract, PLAN);
  await eventually(() => hold.waiting).toBe(TOGETHER);
  const { victim, runs } = busiest(at, evaluation);
  expect(await victim.kill('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
  await eventually(() => model.inFlight).toBe(TOGETHER - runs);
  hold.release();

  const cost = await expectCalm(at, evaluation, calm, { model, before });
  expect(cost.taken.runs).toBeGreaterThanOrEqual(runs);
  expect(cost.paidTwice).toBeGreaterThanOrEqual(runs);
  await victim.restart();
});

test('an executor killed in the middle of tools: another runs them again, and no call is paid twice', async () => {
  work.clear();
  const before = model.calls.length;
  work.shut();
  const evaluation = await at.request(contract, PLAN);
  await eventually(() => work.done('tool').length).toBe(TOGETHER);
  const { victim, runs } = busiest(at, evaluation);
  expect(await victim.kill('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
  await eventually(() => work.done('tool').length).toBeGreaterThanOrEqual(TOGETHER + runs);
  work.open();

  const cost = await expectCalm(at, evaluation, calm, { model, before });
  expect(cost.taken.runs).toBeGreaterThanOrEqual(runs);
  await victim.restart();
});

test.each([['model_call_completed'], ['tool_called'], ['criterion_checked']])(
  'an executor killed between two entries, right after %s: another goes on behind it, and pays for nothing that is confirmed',
  async (type) => {
    const before = model.calls.length;
    await Promise.all(at.of('executor').map((service) => service.kill('SIGTERM')));
    const dying = at.launch('executor', { MODEL_KEY: 'key-of-the-dying', ...dyingAfter(type) });
    const evaluation = await at.request(contract, PLAN);
    expect(await dying.ended()).toEqual({ code: null, signal: 'SIGKILL' });
    const begun = runsOf(dying, evaluation).size;
    expect(begun).toBeGreaterThanOrEqual(1);
    await at.start('executor');
    const cost = await expectCalm(at, evaluation, calm, { model, before });
    expect(cost.taken.runs).toBeGreaterThanOrEqual(begun);
  },
);
