import { Kafka, logLevel, Partitioners } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from './kafka.testkit.js';

const TOPIC = 'things';

function client(brokers: string[]): Kafka {
  return new Kafka({
    brokers,
    logLevel: logLevel.NOTHING,
    requestTimeout: 3000,
    retry: { initialRetryTime: 50, maxRetryTime: 1000, retries: 30 },
  });
}

async function createTopic(kafka: Kafka, replicationFactor: number): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic: TOPIC, numPartitions: 1, replicationFactor }] });
  await admin.disconnect();
}

async function produce(kafka: Kafka, ...values: readonly string[]): Promise<void> {
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  await producer.send({ topic: TOPIC, acks: -1, messages: values.map((value) => ({ value })) });
  await producer.disconnect();
}

/** All values that the topic has. */
async function consume(kafka: Kafka): Promise<string[]> {
  const admin = kafka.admin();
  await admin.connect();
  const [partition] = await admin.fetchTopicOffsets(TOPIC);
  await admin.disconnect();
  const consumer = kafka.consumer({ groupId: `reader-${Math.random()}` });
  const values: string[] = [];
  await consumer.connect();
  await consumer.subscribe({ topic: TOPIC, fromBeginning: true });
  await new Promise<void>((resolve) => {
    void consumer.run({
      eachMessage: ({ message }) => {
        values.push(String(message.value));
        if (values.length === Number(partition?.high)) resolve();
        return Promise.resolve();
      },
    });
  });
  await consumer.disconnect();
  return values;
}

describe('a private broker', () => {
  let cluster: Cluster;
  let kafka: Kafka;

  beforeAll(async () => {
    cluster = await startCluster();
    kafka = client(cluster.brokers);
    await createTopic(kafka, 1);
  });
  afterAll(() => cluster.close());

  test('that was killed has its records again after its start', async () => {
    await produce(kafka, 'before');
    const [{ part }] = cluster.members as [Cluster['members'][number]];
    await part.kill();
    expect(part.pid).toBe(undefined);
    await part.start();
    await produce(kafka, 'after');
    expect(await consume(kafka)).toEqual(['before', 'after']);
  });

  test('that is paused answers nobody, and goes on when it is resumed', async () => {
    const [{ part }] = cluster.members as [Cluster['members'][number]];
    part.pause();
    let settled = false;
    const sent = produce(kafka, 'patient').then(() => (settled = true));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(settled).toBe(false);
    part.resume();
    await sent;
    expect(await consume(kafka)).toContain('patient');
  });

  test('a dropped reply to a Produce makes a plain producer write the record twice', async () => {
    const [{ proxy }] = cluster.members as [Cluster['members'][number]];
    const dropped = proxy.dropProduceReply();
    await produce(kafka, 'twice');
    await dropped;
    const values = await consume(kafka);
    expect(values.filter((value) => value === 'twice')).toHaveLength(2);
  });

  test('a connection that is held goes on when it is released, and one that is cut is made again', async () => {
    const [{ proxy }] = cluster.members as [Cluster['members'][number]];
    proxy.hold();
    setTimeout(() => proxy.release(), 500);
    await produce(kafka, 'held');
    proxy.cut();
    setTimeout(() => proxy.restore(), 500);
    await produce(kafka, 'cut');
    expect(await consume(kafka)).toEqual(expect.arrayContaining(['held', 'cut']));
  });
});

test('a cluster of three that loses the leader of a partition chooses another and goes on', async () => {
  const cluster = await startCluster({ members: 3 });
  try {
    const kafka = client(cluster.brokers);
    await createTopic(kafka, 3);
    await produce(kafka, 'first');
    const leader = await cluster.leaderOf(TOPIC, 0);
    await leader.part.kill();
    await produce(kafka, 'second');
    expect(await consume(kafka)).toEqual(['first', 'second']);
    expect((await cluster.leaderOf(TOPIC, 0)).id).not.toBe(leader.id);
  } finally {
    await cluster.close();
  }
});
