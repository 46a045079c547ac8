import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { partitionOf } from '#lib/event-log/kafka';
import { type Cluster, startCluster } from '../stack/kafka.testkit.js';
import { Deployment } from './deployment.testkit.js';
import { type Calm, calmOf, expectCalm } from './disturbed.testkit.js';
import { PaidModel, Work } from './work.testkit.js';

const PLAN = { repeats: 2, replicates: 2, seed: 13 };
const PARTITIONS = 3;
const SOON = { timeout: 90_000, interval: 50 };

const work = new Work();
let model: PaidModel;
let contract: string;
let calm: Calm;

beforeAll(async () => {
  model = await PaidModel.start(work);
  contract = work.modelContract(model.url);
  calm = await calmOf(contract, PLAN, model);
});
afterAll(async () => {
  await model?.close();
  work.close();
});

/** A deployment on a cluster of its own, with what the others share beside it. */
async function deployOn(cluster: Cluster, replication = 1): Promise<Deployment> {
  const stack = { ...inject('stack'), brokers: cluster.brokers };
  return Deployment.deploy({ stack, executors: 2, partitions: PARTITIONS, replication });
}

/** Asks for an evaluation whose tools wait, and does the harm when some of its calls are paid and all of it is under way. */
async function disturbed(at: Deployment, harm: (evaluation: string) => Promise<void>) {
  const before = model.calls.length;
  work.shut();
  const evaluation = await at.request(contract, PLAN);
  await expect.poll(() => model.calls.length - before, SOON).toBeGreaterThanOrEqual(PLAN.replicates);
  await harm(evaluation);
  work.open();
  return expectCalm(at, evaluation, calm, { model, before });
}

test('replies to Produce that are lost on the way: nothing is lost, and what is written twice does no harm', async () => {
  const cluster = await startCluster();
  const [{ proxy }] = cluster.members as [Cluster['members'][number]];
  const at = await deployOn(cluster);
  try {
    let lost = 0;
    const cost = await disturbed(at, async () => {
      work.open();
      for (const started = model.calls.length; model.calls.length < started + 20 && lost < 5; lost++) {
        await Promise.race([
          proxy.dropProduceReply(),
          sleep(10_000).then(() => Promise.reject(new Error('none lost'))),
        ]);
      }
    });
    expect(lost).toBeGreaterThanOrEqual(3);
    expect(cost).toMatchObject({ paidTwice: 0, unmeasured: 0, taken: { evaluation: 0, runs: 0 } });
  } finally {
    await at.close();
    await cluster.close();
  }
});

test('a broker that is killed and started again in the midst of an evaluation: it comes out as if it had not been', async () => {
  const cluster = await startCluster();
  const [{ part }] = cluster.members as [Cluster['members'][number]];
  const at = await deployOn(cluster);
  try {
    const pids = at.services.map(({ pid }) => pid);
    const cost = await disturbed(at, async () => {
      await part.kill();
      expect(part.pid).toBeUndefined();
      // Tools come to their end while nothing can be written down of it.
      work.open();
      await sleep(2_000);
      const troubled = at.services.filter(({ output }) => /ECONNREFUSED|Connection|connect/.test(output));
      expect(troubled.length).toBeGreaterThan(0);
      await part.start();
    });
    expect(cost.paidTwice).toBe(0);
    expect(at.services.filter(({ alive }) => alive).map(({ pid }) => pid)).toEqual(pids);
    for (const service of at.services) await service.ready();
  } finally {
    await at.close();
    await cluster.close();
  }
});

test('a cluster of three that loses the leader of the ledger in the midst of an evaluation goes on with two', async () => {
  const cluster = await startCluster({ members: 3 });
  const at = await deployOn(cluster, 3);
  try {
    const cost = await disturbed(at, async (evaluation) => {
      const topic = `${at.prefix}eval.ledger`;
      const partition = partitionOf(evaluation, PARTITIONS);
      const leader = await cluster.leaderOf(topic, partition);
      await leader.part.kill();
      await expect
        .poll(
          () =>
            cluster.leaderOf(topic, partition).then(
              ({ id }) => id,
              () => leader.id,
            ),
          SOON,
        )
        .not.toBe(leader.id);
    });
    expect(cost.paidTwice).toBe(0);
    expect(cluster.members.filter(({ part }) => part.pid !== undefined)).toHaveLength(2);
  } finally {
    await at.close();
    await cluster.close();
  }
});
