import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import type { EvalRunId } from '#lib/ledger';
import { Deployment, modelKey } from './deployment.testkit.js';
import { type Calm, calmOf, eventually, expectCalm, runsOf, whoSaid } from './disturbed.testkit.js';
import { isAgent, PaidModel, Work } from './work.testkit.js';
import { commandsOf, nextEntryOf, takenOver, writeLate } from './zombies.testkit.js';

const TOGETHER = 4;
const work = new Work();
let model: PaidModel;
let contract: string;
let at: Deployment;

beforeAll(async () => {
  model = await PaidModel.start(work);
  contract = work.modelContract(model.url);
  at = await Deployment.deploy({ stack: inject('stack'), coordinators: 2, executors: 2 });
});
afterEach(() => {
  for (const service of at.services) service.thaw();
});
afterAll(async () => {
  await at?.close();
  await model?.close();
  work.close();
});

const taken = async (evaluation: EvalRunId, runs: boolean): Promise<number> =>
  (await at.entries(evaluation)).filter((e) => e.type === 'writer_changed' && (e.ledger !== evaluation) === runs)
    .length;

// One repeat: all runs are asked for at once, so whatever the executor calls after it was frozen is a call of a run that it lost.
const ONCE = { repeats: 1, replicates: 2, seed: 12 };
let once: Calm;

test.each([
  ['while the other is at work', false],
  ['when all is over', true],
])(
  'an executor that was frozen past its session and its leases wakes %s, and calls no model any more; what it wrote is harmless',
  async (_, over) => {
    once ??= await calmOf(contract, ONCE, model);
    const before = model.calls.length;
    const hold = model.hold((asked) => isAgent(asked, 1));
    const evaluation = await at.request(contract, ONCE);
    await eventually(() => hold.waiting).toBe(TOGETHER);
    const [victim, index] = frozenOf(evaluation);
    const [run, ...more] = runsOf(victim, evaluation);
    if (run === undefined) throw new Error('it runs nothing');
    const runs = 1 + more.length;
    const late = await nextEntryOf(at, evaluation, run);
    victim.freeze();
    await eventually(() => taken(evaluation, true)).toBeGreaterThanOrEqual(runs);
    await eventually(() => hold.waiting).toBeGreaterThanOrEqual(TOGETHER + runs);
    const called = model.by(modelKey(index));
    // What it had signed when it was displaced arrives all the same, and joins nothing.
    await writeLate(at, late);
    if (over) {
      hold.release();
      await at.reportOf(evaluation);
    }
    victim.thaw();
    await victim.ready();
    hold.release();

    const cost = await expectCalm(at, evaluation, once, { model, before });
    expect(cost.entries.map(({ hash }) => hash)).toContain(late.entry.hash);
    expect(cost.paidTwice).toBeGreaterThanOrEqual(runs);
    expect(model.by(modelKey(index))).toBe(called);
  },
);

function frozenOf(evaluation: EvalRunId) {
  const executors = at.of('executor').map((service, index) => [service, index] as const);
  const [first] = executors.toSorted(([a], [b]) => runsOf(b, evaluation).size - runsOf(a, evaluation).size);
  if (first === undefined) throw new Error('no executor');
  return first;
}

test('a coordinator that was frozen past its session wakes while another owns its evaluation, and sends no command any more', async () => {
  const plan = { repeats: 3, replicates: 2, seed: 11 };
  const calm = await calmOf(contract, plan, model);
  const before = model.calls.length;
  const first = model.hold((asked) => isAgent(asked, 1));
  const evaluation = await at.request(contract, plan);
  await eventually(() => first.waiting).toBe(TOGETHER);
  const zombie = whoSaid(at, 'coordinator', 'evaluation started', evaluation);
  const [{ source } = { source: '' }] = await commandsOf(at, evaluation);
  zombie.freeze();
  await eventually(() => taken(evaluation, false)).toBeGreaterThanOrEqual(1);
  const later = model.hold((asked) => isAgent(asked, 0));
  first.release();
  // The next repeat, which the other coordinator asked for, is under way.
  await eventually(() => later.waiting).toBeGreaterThanOrEqual(1);
  zombie.thaw();
  await zombie.ready();
  later.release();

  const cost = await expectCalm(at, evaluation, calm, { model, before });
  expect(cost.paidTwice).toBe(0);
  // It may come to own the evaluation again, and takes it over then: in between it sent nothing.
  const sent = await commandsOf(at, evaluation);
  expect(new Set(sent.map((one) => one.source)).size).toBe(2);
  const [other] = at.of('coordinator').filter((service) => service !== zombie);
  const lost = takenOver(other, evaluation);
  const back = takenOver(zombie, evaluation);
  expect(lost).toBeLessThan(back);
  expect(sent.filter((one) => one.source === source && one.at > lost && one.at < back)).toEqual([]);
});
