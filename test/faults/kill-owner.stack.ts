import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Entry } from '#lib/ledger';
import { Deployment } from './deployment.testkit.js';
import { type Calm, calmOf, eventually, expectCalm, whoSaid } from './disturbed.testkit.js';
import { dyingAfter } from './service.testkit.js';
import { isAgent, PaidModel, Work } from './work.testkit.js';

const PLAN = { repeats: 3, replicates: 2, seed: 11 };
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
  at = await Deployment.deploy({ stack: inject('stack'), coordinators: 2 });
});
afterAll(async () => {
  await at?.close();
  await model?.close();
  work.close();
});

test('a coordinator killed in the middle of an evaluation: the other takes it over, and no call is paid twice', async () => {
  const before = model.calls.length;
  const hold = model.hold((asked) => isAgent(asked, 1));
  const evaluation = await at.request(contract, PLAN);
  await eventually(() => hold.waiting).toBe(TOGETHER);
  const owner = whoSaid(at, 'coordinator', 'evaluation started', evaluation);
  expect(await owner.kill('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
  hold.release();

  const cost = await expectCalm(at, evaluation, calm, { model, before });
  expect(cost.taken.evaluation).toBeGreaterThanOrEqual(1);
  expect(cost.paidTwice).toBe(0);
  await owner.restart();
});

test('a projector killed before there is a report: the one that comes after it reports', async () => {
  const before = model.calls.length;
  const hold = model.hold((asked) => isAgent(asked, 1));
  const evaluation = await at.request(contract, PLAN);
  await eventually(() => hold.waiting).toBe(TOGETHER);
  const [projector] = at.of('projector');
  expect(await projector?.kill('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
  hold.release();
  const types = async () => (await at.entries(evaluation)).map(({ type }) => type);
  await eventually(types).toContain('eval_closed');
  expect(await types()).not.toContain('eval_report');
  await projector?.restart();
  await expectCalm(at, evaluation, calm, { model, before });
});

test('a projector killed between the report that it wrote and its publication: the next one publishes it', async () => {
  const before = model.calls.length;
  const [projector] = at.of('projector');
  await projector?.kill('SIGTERM');
  const dying = at.launch('projector', dyingAfter('eval_report'));
  const evaluation = await at.request(contract, PLAN);
  expect(await dying.ended()).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await at.list('eval.report', evaluation)).toEqual([]);
  const reports = (entries: readonly Entry[]) => entries.filter(({ type }) => type === 'eval_report');
  expect(reports(await at.entries(evaluation))).toHaveLength(1);
  await projector?.restart();
  const { entries } = await expectCalm(at, evaluation, calm, { model, before });
  expect(reports(entries)).toHaveLength(1);
});

test('all services killed at once, and started again: the evaluation goes on where it was', async () => {
  const before = model.calls.length;
  const hold = model.hold((asked) => isAgent(asked, 1));
  const evaluation = await at.request(contract, PLAN);
  await eventually(() => hold.waiting).toBe(TOGETHER);
  const all = at.services.filter((service) => service.alive);
  expect(all).toHaveLength(4);
  await Promise.all(all.map((service) => service.kill('SIGKILL')));
  await eventually(() => model.inFlight).toBe(0);
  hold.release();
  await Promise.all(all.map((service) => service.restart()));

  const cost = await expectCalm(at, evaluation, calm, { model, before });
  expect(cost).toMatchObject({ paidTwice: TOGETHER, unmeasured: TOGETHER });
  expect(cost.taken.evaluation).toBeGreaterThanOrEqual(1);
});
