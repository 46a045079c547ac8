import { ConfigResourceTypes } from 'kafkajs';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Deployment, deploy } from './deployment.testkit.js';
import { checkTopics, deployTopics } from './deploy-topics.js';
import { openKafkaLog } from './open.js';
import { createPlainCodec } from '../../../schemas/src/plain-codec.testkit.js';
import { keys } from '../fixtures.testkit.js';

const connection = { brokers: inject('stack').brokers, clientId: 'tests' };
let deployment: Deployment;
beforeAll(async () => {
  deployment = await deploy(2);
});
afterAll(() => deployment.close());

const check = (prefix: string, minInsyncReplicas = 1) => checkTopics({ connection, prefix, minInsyncReplicas });

test('topics that were just created are right, and creating them again changes nothing', async () => {
  const { prefix } = deployment;
  expect(await check(prefix)).toEqual([]);
  const again = await deployTopics({ connection, prefix, partitions: 2, replication: null, minInsyncReplicas: 1 });
  expect(again).toMatchObject({ created: [], differences: [] });
  expect(again.kept).toHaveLength(9);
});

test('what differs is said and left as it is', async () => {
  const { prefix } = deployment;
  const said = await deployTopics({ connection, prefix, partitions: 5, replication: 2, minInsyncReplicas: 2 });
  expect(said.differences).toContain(`${prefix}eval.ledger has 2 partitions, not 5`);
  expect(said.differences).toContain(`${prefix}eval.ledger has 1 replicas, not 2`);
  expect(said.differences).toContain(`${prefix}eval.ledger has min.insync.replicas=1, not 2`);
  expect(await check(prefix)).toEqual([]);
});

test('topics that would lose history, acceptances or the index are refused, with what to do', async () => {
  const prefix = `${deployment.prefix}bad.`;
  await deployTopics({ connection, prefix, partitions: 2, replication: 1, minInsyncReplicas: 1 });
  const admin = deployment.kafka.admin();
  await admin.connect();
  const set = (topic: string, entries: Record<string, string>) =>
    admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: ConfigResourceTypes.TOPIC,
          name: `${prefix}${topic}`,
          configEntries: Object.entries(entries).map(([name, value]) => ({ name, value })),
        },
      ],
    });
  await set('eval.ledger', { 'retention.ms': '604800000', 'retention.bytes': '1000000', 'cleanup.policy': 'compact' });
  await set('eval.attachment', { 'cleanup.policy': 'compact,delete', 'retention.ms': '-1' });
  await set('eval.index', { 'cleanup.policy': 'delete' });
  await set('eval.accepted', { 'retention.ms': '3600000', 'unclean.leader.election.enable': 'true' });
  await admin.createPartitions({ topicPartitions: [{ topic: `${prefix}eval.accepted`, count: 3 }] });
  await admin.disconnect();
  // A broker hears of new partitions in a moment.
  const counts = /eval\.accepted has 3 partitions and the deployment was made with 2/;
  await expect.poll(async () => (await check(prefix, 2)).join('\n'), { timeout: 10_000 }).toMatch(counts);
  const reasons = (await check(prefix, 2)).join('\n');
  expect(reasons).toContain('eval.ledger would lose history: retention.ms is 604800000; set it to -1');
  expect(reasons).toContain('eval.ledger would lose history: retention.bytes is 1000000');
  expect(reasons).toContain('eval.ledger would lose history: cleanup.policy is compact; set it to delete');
  expect(reasons).toContain('eval.attachment would lose history: cleanup.policy is compact,delete');
  expect(reasons).toContain('eval.index would lose where evaluations begin: cleanup.policy is delete');
  expect(reasons).toContain('eval.accepted would lose acceptances of open evaluations: retention.ms is 3600000');
  expect(reasons).toContain('eval.accepted may lose what it acknowledged: set unclean.leader.election.enable to false');
  expect(reasons).toContain('min.insync.replicas is 1, and the configuration asks for 2');
});

test('without topics a log does not open, and says what to run', async () => {
  const prefix = `${deployment.prefix}none.`;
  expect(await check(prefix)).toHaveLength(9);
  const opening = openKafkaLog({ connection, prefix, codec: createPlainCodec(), keys, fatal: () => {} });
  await expect(opening).rejects.toMatchObject({
    code: 'log_missing',
    message: expect.stringContaining('truss deploy topics'),
  });
});

test('without a cluster a log does not open', async () => {
  const opening = openKafkaLog({
    connection: { brokers: ['127.0.0.1:1'], clientId: 'tests' },
    prefix: '',
    codec: createPlainCodec(),
    keys,
    fatal: () => {},
  });
  await expect(opening).rejects.toMatchObject({ code: 'log_unreadable' });
});
