import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../../../test/stack/kafka.testkit.js';
import { all, follow, Heard } from '../contract.testkit.js';
import { drafts, startedEvaluation } from '../fixtures.testkit.js';
import { deploy } from './deployment.testkit.js';
import type { KafkaLog } from './open.js';
import { topicName } from './names.js';

const SOON = { timeout: 60_000, interval: 50 };

/** Appends one note after another until told to end; every answer must be `confirmed`. */
async function writing(log: KafkaLog) {
  const { child, opening, runStarted } = await startedEvaluation();
  expect(await log.log.append(opening)).toBe('confirmed');
  expect(await log.log.append([runStarted])).toBe('confirmed');
  let over = false;
  let confirmed = 0;
  const done = (async () => {
    while (!over) {
      expect(await log.log.append([await child.next(drafts.note(`${confirmed}`))])).toBe('confirmed');
      confirmed++;
      await sleep(5);
    }
  })();
  return {
    evaluation: child.evaluation,
    get confirmed() {
      return confirmed;
    },
    async end() {
      over = true;
      await done;
      return confirmed;
    },
  };
}

/** Writers, followers and a consumer over a cluster that is harmed meanwhile. Answers how many brokers run at the end. */
async function survives(cluster: Cluster, harm: (prefix: string) => Promise<void>): Promise<number> {
  const deployment = await deploy(2, cluster.brokers, cluster.members.length);
  try {
    const [here, there] = [await deployment.open(), await deployment.open()];
    const taken: number[] = [];
    const consumer = await there.topics.consume('eval.report', 'reports', {
      record: ({ value }) => void taken.push(Number(value)),
    });
    const writers = [await writing(here), await writing(here), await writing(there)];
    const heard = writers.map(() => new Heard());
    const followings = await Promise.all(
      writers.map(({ evaluation }, index) => follow(there.log, evaluation, heard[index] ?? new Heard())),
    );
    await here.topics.publish('eval.report', 'before', 0);
    await harm(deployment.prefix);
    const before = writers.map(({ confirmed }) => confirmed);
    await here.topics.publish('eval.report', 'after', 1);
    await expect
      .poll(() => writers.every(({ confirmed }, index) => confirmed > (before[index] ?? 0) + 20), SOON)
      .toBe(true);
    await expect.poll(() => [...new Set(taken)], SOON).toEqual([0, 1]);
    const counts = await Promise.all(writers.map((writer) => writer.end()));
    await Promise.all(followings.map((following) => following.caughtUp()));
    for (const [index, one] of heard.entries()) {
      const joined = one.joinings.filter((joining) => joining === 'joined').length;
      expect(joined).toBe((counts[index] ?? 0) + 3);
      expect(one.joinings).not.toContain('superseded');
      expect((await all(here.log.records(writers[index]?.evaluation as never))).length).toBeGreaterThanOrEqual(joined);
    }
    await expect.poll(() => [here.ready(), there.ready()], SOON).toEqual([true, true]);
    await consumer.stop();
    return cluster.members.filter(({ part }) => part.pid !== undefined).length;
  } finally {
    await deployment.close();
    await cluster.close();
  }
}

test('a broker that is killed and started again: writers, followers and consumers go on, and nothing is lost', async () => {
  const cluster = await startCluster();
  const [{ part }] = cluster.members as [Cluster['members'][number]];
  const running = await survives(cluster, async () => {
    await sleep(300);
    await part.kill();
    await sleep(2_000);
    await part.start();
  });
  expect(running).toBe(1);
});

test('a cluster of three that loses the leader of the ledger goes on with two', async () => {
  const cluster = await startCluster({ members: 3 });
  const running = await survives(cluster, async (prefix) => {
    await sleep(300);
    const leader = await cluster.leaderOf(topicName(prefix, 'eval.ledger'), 0);
    await leader.part.kill();
  });
  expect(running).toBe(2);
});
