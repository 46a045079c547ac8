import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SchemaError, type TopicCodec } from '#lib/schemas';
import { createPlainCodec } from '../../../schemas/src/plain-codec.testkit.js';
import type { TopicRecord } from '../port.js';
import { type Deployment, deploy } from './deployment.testkit.js';
import type { KafkaLog } from './open.js';

const SOON = { timeout: 15_000, interval: 20 };
/** Longer than it takes to look at the end twice. */
const LOOKS_MS = 5_000;

let deployment: Deployment;
beforeAll(async () => {
  deployment = await deploy(1);
});
afterAll(() => deployment.close());

function lagOf(log: KafkaLog): number {
  return log.lag().consumers.reduce((sum, { lag }) => sum + lag, 0);
}

test('an open transaction of somebody holds nothing back, and the mark that ends it is no lag', async () => {
  const log = await deployment.open();
  const taken: unknown[] = [];
  const consumer = await log.topics.consume('eval.requested', 'intake', { record: ({ value }) => taken.push(value) });
  const producer = deployment.kafka.producer({ transactionalId: `${deployment.prefix}open`, maxInFlightRequests: 1 });
  await producer.connect();
  const open = await producer.transaction();
  const value = Buffer.from(await createPlainCodec().encode('eval.requested', 'in an open transaction'));
  await open.send({ topic: `${deployment.prefix}eval.requested`, messages: [{ key: 'open', value, partition: 0 }] });
  await log.topics.publish('eval.requested', 'another', 'behind it');
  await expect.poll(() => taken, SOON).toEqual(['in an open transaction', 'behind it']);
  await open.abort();
  await producer.disconnect();
  await sleep(LOOKS_MS);
  expect(lagOf(log)).toBe(0);
  expect(log.ready()).toBe(true);
  await log.topics.publish('eval.requested', 'another', 'after its end');
  await expect.poll(() => taken.at(-1), SOON).toBe('after its end');
  expect(taken).toHaveLength(3);
  await consumer.stop();
  await log.close();
});

test('a consumer that is given nothing of what stands there is not ready, and says how much it is', async () => {
  const plain = createPlainCodec();
  let away = true;
  const codec: TopicCodec = {
    encode: (topic, value) => plain.encode(topic, value),
    decode: (topic, bytes) => {
      if (away && topic === 'eval.report') throw new SchemaError('registry_unavailable', 'the registry is away');
      return plain.decode(topic, bytes);
    },
  };
  const log = await deployment.open({ codec });
  const taken: TopicRecord[] = [];
  const consumer = await log.topics.consume('eval.report', 'held', { record: (record) => taken.push(record) });
  expect(log.ready()).toBe(true);
  for (const n of [1, 2, 3]) await log.topics.publish('eval.report', 'held', n);
  await expect.poll(() => log.ready(), SOON).toBe(false);
  expect(lagOf(log)).toBe(3);
  away = false;
  await expect.poll(() => [taken.length, lagOf(log), log.ready()], SOON).toEqual([3, 0, true]);
  await consumer.stop();
  await log.close();
});

test('a registration that was taken back is listed as null, and those that guard the topic leave it alone', async () => {
  const log = await deployment.open();
  await log.guard();
  for (const topic of ['eval.contract', 'eval.index'] as const) {
    await log.topics.publish(topic, 'a key', { stands: true });
    await deployment.raw(topic, 'a key', null);
    // A guard that has passed this has passed the one before it.
    await deployment.raw(topic, 'a key', Buffer.from(`poison on ${topic}`));
  }
  const letters = async () => {
    const found: { topic: unknown; bytes: unknown }[] = [];
    for await (const { value } of log.topics.list('eval.dead-letter')) found.push(value as (typeof found)[number]);
    return found;
  };
  await expect.poll(async () => (await letters()).length, SOON).toBe(2);
  expect((await letters()).every(({ bytes }) => typeof bytes === 'string')).toBe(true);
  const listed: unknown[] = [];
  for await (const { key, value } of log.topics.list('eval.contract')) listed.push([key, value]);
  expect(listed).toEqual([
    ['a key', { stands: true }],
    ['a key', null],
  ]);
  await log.close();
});
