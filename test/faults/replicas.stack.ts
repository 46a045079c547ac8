import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { SERVICE_ROLES } from '#lib/key-store';
import type { EvalRunId } from '#lib/ledger';
import { Deployment } from './deployment.testkit.js';
import { type Calm, calmOf, eventually } from './disturbed.testkit.js';
import type { Service } from './service.testkit.js';
import { paidBeyond, PaidModel, Work } from './work.testkit.js';

const PLAN = { repeats: 2, replicates: 2, seed: 11 };
const EVALUATIONS = 3;
const work = new Work();
let model: PaidModel;
let contract: string;
let calm: Calm;
let at: Deployment;

beforeAll(async () => {
  model = await PaidModel.start(work);
  contract = work.modelContract(model.url);
  calm = await calmOf(contract, PLAN, model);
  at = await Deployment.deploy({ stack: inject('stack'), coordinators: 3, executors: 3, projectors: 3 });
});
afterAll(async () => {
  await at?.close();
  await model?.close();
  work.close();
});

async function several(): Promise<EvalRunId[]> {
  const ids: EvalRunId[] = [];
  for (let i = 0; i < EVALUATIONS; i += 1) ids.push(await at.request(contract, PLAN));
  return ids;
}
/** What the models would be asked for all of them. */
const together = (): string[] => Array<readonly string[]>(EVALUATIONS).fill(calm.calls).flat();

test('three replicas of each service with one key each share the evaluations: one report of each, and nobody equivocates', async () => {
  const before = model.calls.length;
  const ids = await several();
  for (const id of ids) {
    expect((await at.outcomeOf(id)).measured).toEqual(calm.outcome.measured);
    await at.verify(id);
    expect(await at.list('eval.report', id)).toHaveLength(1);
  }
  expect(paidBeyond(together(), model.calls.slice(before))).toEqual(new Map());
  // More than one of them had work, or nothing was shared.
  const busy = at.of('executor').filter((service) => service.lines('run sealed').length > 0);
  expect(busy.length).toBeGreaterThan(1);
});

test('SIGTERM ends one of each under load in ten seconds, and nothing is lost or paid twice', async () => {
  const before = model.calls.length;
  model.delayMs = 200;
  const ids = await several();
  await eventually(
    () => model.calls.slice(before).filter((text) => text.includes('"role":"tool"')).length,
  ).toBeGreaterThan(3);
  // Of each role one that has work.
  const leaving = SERVICE_ROLES.flatMap((role) => at.of(role).filter(worksOn(ids)).slice(0, 1));
  expect(leaving.length).toBeGreaterThanOrEqual(2);
  const ended = await Promise.all(leaving.map((service) => service.kill('SIGTERM')));
  for (const one of ended) {
    expect(one).toMatchObject({ code: 0 });
    expect(one.ms).toBeLessThan(10_000);
  }
  for (const id of ids) {
    const { measured, unmeasured } = await at.outcomeOf(id);
    expect(measured).toEqual(calm.outcome.measured);
    // A run that was handed back between the entry of a call and the call: it was not made, and nobody after it can know.
    const handedBack = (await at.entries(id)).filter((entry) => entry.type === 'writer_changed' && entry.ledger !== id);
    expect(unmeasured).toBeLessThanOrEqual(handedBack.length);
    await at.verify(id);
  }
  model.delayMs = 0;
  expect(paidBeyond(together(), model.calls.slice(before))).toEqual(new Map());
});

function worksOn(ids: readonly EvalRunId[]) {
  return (service: Service) =>
    service.lines('entries written').some((line) => ids.some((id) => id === line['eval_run_id'])) ||
    service.lines('record taken').some((line) => line['group'] === 'projector' && ids.some((id) => id === line['key']));
}
