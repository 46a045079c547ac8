import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createPlainCodec } from '../../../schemas/src/plain-codec.testkit.js';
import { all, follow, Heard } from '../contract.testkit.js';
import { drafts, freshEvaluation, keys, startedEvaluation } from '../fixtures.testkit.js';
import { type Deployment, deploy } from './deployment.testkit.js';
import { checkTopics, deployTopics } from './deploy-topics.js';
import { openKafkaLog } from './open.js';
import { rebuildIndex } from './rebuild-index.js';

const connection = { brokers: inject('stack').brokers, clientId: 'tests' };
const codec = createPlainCodec();
const PARTITIONS = 2;
let deployment: Deployment;
beforeAll(async () => {
  deployment = await deploy(PARTITIONS);
});
afterAll(() => deployment.close());

const check = ({ prefix }: Deployment) => checkTopics({ connection, prefix, minInsyncReplicas: 1 });
const redeploy = ({ prefix }: Deployment) =>
  deployTopics({ connection, prefix, partitions: PARTITIONS, replication: 1, minInsyncReplicas: 1 });

async function running(on: Deployment) {
  const { child, opening, runStarted } = await startedEvaluation();
  const { log, close } = await on.open();
  for (const entries of [opening, [runStarted], [await child.next(drafts.note())]]) {
    expect(await log.append(entries)).toBe('confirmed');
  }
  const [first, second] = await all(log.records(child.evaluation));
  return { id: child.evaluation, log, close, first: first?.position ?? -1, second: second?.position ?? -1 };
}

async function loseIndex({ kafka, prefix }: Deployment): Promise<void> {
  const [admin, index] = [kafka.admin(), `${prefix}eval.index`];
  await admin.connect();
  await admin.deleteTopics({ topics: [index] });
  await expect.poll(() => admin.listTopics(), { timeout: 10_000 }).not.toContain(index);
  await admin.disconnect();
}

test('a lost index is not taken for that of a new deployment: nobody serves on it, and everything is read from the beginning', async () => {
  const lost = await deploy(PARTITIONS);
  const { id, close, first } = await running(lost);
  await close();
  await loseIndex(lost);
  const { created, differences } = await redeploy(lost);
  expect(created).toEqual([`${lost.prefix}eval.index`]);
  expect(differences).toEqual([expect.stringContaining('run truss deploy index')]);
  expect(await check(lost)).toEqual([expect.stringContaining('run truss deploy index')]);
  const unmarked = await lost.open();
  expect(await unmarked.log.beginningOf(id)).toBe(0);
  expect(await unmarked.log.beginningOf(freshEvaluation())).toBe(0);

  const rebuilt = await rebuildIndex({ connection, prefix: lost.prefix, codec });
  expect(rebuilt).toEqual({ evaluations: 1, written: 1, partitions: PARTITIONS });
  expect(await check(lost)).toEqual([]);
  expect((await redeploy(lost)).differences).toEqual([]);
  const { log } = await lost.open();
  expect(await log.beginningOf(id)).toBe(first);
  expect(await log.beginningOf(freshEvaluation())).toBeNull();
  expect(await all(log.records(id))).toHaveLength(4);
  expect(await rebuildIndex({ connection, prefix: lost.prefix, codec })).toMatchObject({ written: 0 });
  await lost.close();
});

test('an index that is rebuilt says how an evaluation ended', async () => {
  const { parent, opening } = await startedEvaluation();
  const { log, topics } = await deployment.open();
  expect(await log.append(opening)).toBe('confirmed');
  expect(await log.append([await parent.next(drafts.closed())])).toBe('confirmed');
  await rebuildIndex({ connection, prefix: deployment.prefix, codec });
  const records = (await all(topics.list('eval.index'))).filter(({ key }) => key === parent.evaluation);
  expect(records.map(({ value }) => value)).toEqual([expect.objectContaining({ outcome: expect.any(String) })]);
});

test.each(['eval.ledger', 'eval.accepted', 'eval.index', 'eval.attachment'])(
  'a changed number of partitions of %s is refused by services, and of the ledger by whoever opens it',
  async (topic) => {
    const grown = await deploy(PARTITIONS);
    const admin = grown.kafka.admin();
    await admin.connect();
    await admin.createPartitions({ topicPartitions: [{ topic: `${grown.prefix}${topic}`, count: 3 }] });
    await admin.disconnect();
    const said = 'has 3 partitions and the deployment was made with 2';
    await expect.poll(async () => (await check(grown)).join(), { timeout: 10_000 }).toContain(`${topic} ${said}`);
    if (topic !== 'eval.ledger') return;
    const opening = openKafkaLog({ connection, prefix: grown.prefix, codec, keys, fatal: () => {} });
    await expect(opening).rejects.toMatchObject({ code: 'log_unreadable', message: expect.stringContaining(said) });
  },
);

test.each([
  ['past its first record', (second: number) => second],
  ['past the end of the ledger', () => 1_000_000],
])(
  'an index that sends a reader %s is not believed: readers and followers have all of the evaluation',
  async (_, from) => {
    const { id, topics, second } = await running(deployment).then(async (ran) => ({
      ...ran,
      topics: (await deployment.open()).topics,
    }));
    await topics.publish('eval.index', id, { eval_run_id: id, from: from(second), outcome: null });
    const { log } = await deployment.open();
    expect(await log.beginningOf(id)).toBe(from(second));
    const heard = new Heard();
    (await follow(log, id, heard)).stop();
    expect(heard.joinings).toEqual(['joined', 'joined', 'joined', 'joined']);
    expect(await all(log.records(id))).toHaveLength(4);
  },
);
