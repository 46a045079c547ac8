import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { Deployment } from './deployment.testkit.js';
import { type Calm, calmOf, eventually, expectCalm, runsOf } from './disturbed.testkit.js';
import { freezingAfter, type Service } from './service.testkit.js';
import { commandsOf, takenOver } from './zombies.testkit.js';
import { PaidModel, Work } from './work.testkit.js';

const PLAN = { repeats: 1, replicates: 1, seed: 12 };
const work = new Work();
let model: PaidModel;
let contract: string;
let calm: Calm;
let at: Deployment;

beforeAll(async () => {
  model = await PaidModel.start(work);
  contract = work.modelContract(model.url);
  calm = await calmOf(contract, PLAN, model);
  at = await Deployment.deploy({ stack: inject('stack'), coordinators: 0, executors: 0 });
});
afterEach(async () => {
  const services = [...at.of('coordinator'), ...at.of('executor')];
  for (const service of services) service.thaw();
  await Promise.all(services.map((service) => service.kill('SIGKILL')));
});
afterAll(async () => {
  await at?.close();
  await model?.close();
  work.close();
});

/** Whether the process is stopped, as Linux says. */
const frozen = ({ pid }: Service): boolean => /^State:\tT/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));

test('an executor that is frozen between the entry of a call and the call does not make it when it wakes displaced', async () => {
  const before = model.calls.length;
  await at.start('coordinator');
  const zombie = await at.start('executor', { MODEL_KEY: 'key-of-the-zombie', ...freezingAfter('model_call_started') });
  const evaluation = await at.request(contract, PLAN);
  await eventually(() => frozen(zombie)).toBe(true);
  const called = model.by('key-of-the-zombie');
  const other = await at.start('executor');
  const runs = runsOf(zombie, evaluation).size;
  const taken = () => other.lines('ledger taken over').length;
  await eventually(taken).toBeGreaterThanOrEqual(runs);
  await at.reportOf(evaluation);
  zombie.thaw();
  await eventually(() => frozen(zombie)).toBe(false);
  await zombie.ready();
  await expectCalm(at, evaluation, calm, { model, before });
  expect(model.by('key-of-the-zombie')).toBe(called);
});

test('a coordinator that is frozen between the request of runs and their commands does not send them when it wakes displaced', async () => {
  const before = model.calls.length;
  await at.start('executor');
  const zombie = await at.start('coordinator', freezingAfter('child_requested'));
  const evaluation = await at.request(contract, PLAN);
  await eventually(() => frozen(zombie)).toBe(true);
  expect(await commandsOf(at, evaluation)).toEqual([]);
  const other = await at.start('coordinator');
  await at.reportOf(evaluation);
  zombie.thaw();
  await zombie.ready();
  await expectCalm(at, evaluation, calm, { model, before });
  expect(takenOver(other, evaluation)).toBeLessThan(Number.POSITIVE_INFINITY);
  const senders = new Set((await commandsOf(at, evaluation)).map(({ source }) => source));
  expect(senders.size).toBe(1);
});
