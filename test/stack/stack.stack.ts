import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { expect, inject, test } from 'vitest';

const { brokers, registry, redis } = inject('stack');

test('the shared broker answers a client', async () => {
  const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  const { brokers: members } = await admin.describeCluster();
  await admin.disconnect();
  expect(members.length).toBeGreaterThan(0);
});

test('the shared registry answers as a Confluent registry does', async () => {
  const response = await fetch(`${registry}/schemas/types`);
  expect(await response.json()).toContain('AVRO');
});

test('the shared Redis answers a client', async () => {
  const client = new Redis(redis);
  expect(await client.ping()).toBe('PONG');
  client.disconnect();
});
