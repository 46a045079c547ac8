import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Deployment } from './deployment.testkit.js';
import { undisturbed } from './outcome.testkit.js';
import { paidBeyond, PaidModel, Work } from './work.testkit.js';

const PLAN = { repeats: 3, replicates: 2, seed: 11 };
const work = new Work();
let model: PaidModel;
let at: Deployment;

beforeAll(async () => {
  model = await PaidModel.start(work);
  at = await Deployment.deploy({ stack: inject('stack') });
});
afterAll(async () => {
  await at?.close();
  await model?.close();
  work.close();
});

test('models, tools, reviewers and lessons on Kafka measure the same as embedded, and ask the models the same', async () => {
  const contract = work.modelContract(model.url);
  const calm = await undisturbed(contract, PLAN);
  const asked = model.calls;
  expect(calm.unmeasured).toBe(0);
  // Four calls in each run; in learning_on one more, that writes lessons.
  expect(asked).toHaveLength(2 * 3 * (4 + 5));
  expect(work.done('tool')).toHaveLength(2 * 3 * 2 * 2);

  const evaluation = await at.request(contract, PLAN);
  expect(await at.outcomeOf(evaluation)).toEqual(calm);
  expect(paidBeyond(asked, model.calls.slice(asked.length))).toEqual(new Map());
  await at.verify(evaluation);
});

test('an agent that is a program measures the same on Kafka as embedded', async () => {
  work.clear();
  const contract = work.programContract(20);
  const calm = await undisturbed(contract, PLAN);
  expect(work.done('agent')).toHaveLength(2 * 3 * 2);

  const evaluation = await at.request(contract, PLAN);
  expect(await at.outcomeOf(evaluation)).toEqual(calm);
  expect(work.done('agent')).toHaveLength(2 * 2 * 3 * 2);
  await at.verify(evaluation);
});
