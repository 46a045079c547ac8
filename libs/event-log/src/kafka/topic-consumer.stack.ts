import { setTimeout as sleep } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import { CompressionCodecs, CompressionTypes } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SchemaError, type TopicCodec } from '#lib/schemas';
import { createPlainCodec } from '../../../schemas/src/plain-codec.testkit.js';
import { all } from '../contract.testkit.js';
import type { TopicHandler, TopicRecord } from '../port.js';
import { type Deployment, deploy } from './deployment.testkit.js';
import { partitionOf } from './names.js';
import type { KafkaLog } from './open.js';

const PARTITIONS = 4;
const SOON = { timeout: 15_000, interval: 20 };

let deployment: Deployment;
let log: KafkaLog;
beforeAll(async () => {
  deployment = await deploy(PARTITIONS);
  log = await deployment.open();
});
afterAll(() => deployment.close());

class Taken implements TopicHandler {
  readonly records: TopicRecord[] = [];
  readonly gone: number[] = [];
  record(record: TopicRecord): void {
    this.records.push(record);
  }
  lost(partitions: readonly number[]): void {
    this.gone.push(...partitions);
  }
  get places(): string[] {
    return this.records.map(({ partition, position }) => `${partition}/${position}`);
  }
  get values(): unknown[] {
    return this.records.map(({ value }) => value);
  }
}

async function letters(): Promise<Record<string, unknown>[]> {
  return (await all(log.topics.list('eval.dead-letter'))).map(({ value }) => value as Record<string, unknown>);
}

describe('a group', () => {
  test('of two has each partition once; who stays keeps its place, and what was lost comes again from where it was committed', async () => {
    const other = await deployment.open();
    for (let n = 0; n < 40; n++) await log.topics.publish('eval.child-run.commands', `command ${n}`, n);
    const [first, second] = [new Taken(), new Taken()];
    const one = await log.topics.consume('eval.child-run.commands', 'executors', first);
    await expect.poll(() => first.records.length, SOON).toBe(40);
    const before = [...first.places];
    const two = await other.topics.consume('eval.child-run.commands', 'executors', second);
    await expect.poll(() => new Set(first.gone).size, SOON).toBe(PARTITIONS / 2);
    const moved = first.records.filter(({ partition }) => first.gone.includes(partition)).length;
    await expect.poll(() => second.records.length, SOON).toBe(moved);
    expect(first.places).toEqual(before);

    const [finished] = second.records as [TopicRecord];
    const last = Math.max(
      ...second.records.filter((record) => record.partition === finished.partition).map(({ position }) => position),
    );
    await two.commit(last + 1, finished.partition);
    await two.stop();
    const again = moved - second.records.filter((record) => record.partition === finished.partition).length;
    await expect.poll(() => first.records.length, SOON).toBe(40 + again);
    for (let n = 0; n < PARTITIONS * 4; n++)
      await log.topics.publish('eval.child-run.commands', `more ${n}`, `more ${n}`);
    await expect.poll(() => first.records.length, SOON).toBe(40 + again + PARTITIONS * 4);
    await one.stop();
    await other.close();
  });

  test('goes on after the last record, though that one went to the dead letters', async () => {
    const key = 'the same partition';
    const first = new Taken();
    const consumer = await log.topics.consume('eval.accepted', 'resuming', first);
    const position = await log.topics.publish('eval.accepted', key, 'good');
    await deployment.raw('eval.accepted', key, Buffer.from('ab'));
    await expect
      .poll(async () => (await letters()).filter(({ topic }) => topic === 'eval.accepted').length, SOON)
      .toBe(1);
    await consumer.commit(position + 1, partitionOf(key, PARTITIONS));
    await consumer.stop();
    const again = new Taken();
    const resumed = await log.topics.consume('eval.accepted', 'resuming', again);
    await log.topics.publish('eval.accepted', key, 'next');
    await expect.poll(() => again.values, SOON).toEqual(['next']);
    await resumed.stop();
    expect((await letters()).filter(({ topic }) => topic === 'eval.accepted')).toHaveLength(1);
  });

  test('begins at what is kept where its place is deleted', async () => {
    const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
    const partition = partitionOf('a', PARTITIONS);
    const there = keys.filter((key) => partitionOf(key, PARTITIONS) === partition);
    const early = await log.topics.consume('eval.contract', 'late', new Taken());
    const position = await log.topics.publish('eval.contract', 'a', 0);
    await early.commit(position, partition);
    await early.stop();
    for (const key of there) await log.topics.publish('eval.contract', key, key);
    const admin = deployment.kafka.admin();
    await admin.connect();
    await admin
      .deleteTopicRecords({
        topic: `${deployment.prefix}eval.contract`,
        partitions: [{ partition, offset: String(position + 1) }],
      })
      // A compacted topic takes no deletions: then everything is still there.
      .catch(() => {});
    await admin.disconnect();
    const taken = new Taken();
    const late = await log.topics.consume('eval.contract', 'late', taken);
    await expect.poll(() => taken.values, SOON).toEqual(expect.arrayContaining(there));
    await late.stop();
  });
});

describe('poison', () => {
  test('goes to the dead letters byte for byte with its headers, and what comes after it is delivered', async () => {
    const good = Buffer.from(await createPlainCodec().encode('eval.requested', 'good'));
    const nonsense = Buffer.concat([Buffer.of(0, 0, 0, 0, 1), Buffer.from('{')]);
    const poison: (Buffer | null)[] = [
      Buffer.of(0, 1),
      Buffer.concat([Buffer.of(7), good.subarray(1)]),
      Buffer.concat([Buffer.of(0, 0, 0, 9, 9), good.subarray(5)]),
      nonsense,
      null,
      Buffer.alloc(900 * 1024, 1),
    ];
    const key = 'poisoned';
    for (const value of poison) await deployment.raw('eval.requested', key, value, { from: 'elsewhere' });
    await deployment.raw('eval.requested', key, good);
    const taken = new Taken();
    const consumer = await log.topics.consume('eval.requested', 'intake', taken);
    await expect.poll(() => taken.values, SOON).toEqual(['good']);
    await consumer.stop();
    const found = (await letters()).filter(({ topic }) => topic === 'eval.requested');
    expect(found.map(({ bytes }) => bytes)).toEqual(poison.map((value) => value?.toString('base64') ?? null));
    expect(found.map(({ code }) => code)).toEqual([
      'not_framed',
      'not_framed',
      'schema_unknown',
      'value_malformed',
      'value_malformed',
      'not_framed',
    ]);
    for (const [index, letter] of found.entries()) {
      expect(letter).toMatchObject({ partition: partitionOf(key, PARTITIONS), position: index });
      expect(letter['headers']).toEqual([{ key: 'from', value: Buffer.from('elsewhere').toString('base64') }]);
    }
  });

  test('on topics that nobody consumes is found by those that guard them, once for all of them', async () => {
    const other = await deployment.open();
    const topics = ['eval.ledger', 'eval.attachment', 'eval.index', 'eval.contract'] as const;
    await Promise.all([log.guard(), other.guard()]);
    for (const topic of topics) await deployment.raw(topic, 'some key', Buffer.from(`poison on ${topic}`));
    const found = async () =>
      (await letters()).filter(({ bytes }) => String(Buffer.from(String(bytes), 'base64')).startsWith('poison on'));
    await expect
      .poll(async () => (await found()).map(({ topic }) => topic).toSorted(), SOON)
      .toEqual(topics.toSorted());
    await sleep(1_500);
    expect(await found()).toHaveLength(topics.length);
    await other.close();
  });

  test('a record in zstd is read', async () => {
    const codecs: Record<number, () => unknown> = CompressionCodecs;
    const ours = codecs[CompressionTypes.ZSTD] as () => object;
    codecs[CompressionTypes.ZSTD] = () => ({
      ...ours(),
      compress: async ({ buffer }: { buffer: Buffer }) => zstdCompressSync(buffer),
    });
    const producer = deployment.kafka.producer();
    await producer.connect();
    const value = Buffer.from(await createPlainCodec().encode('eval.report', { packed: true }));
    await producer.send({
      topic: `${deployment.prefix}eval.report`,
      compression: CompressionTypes.ZSTD,
      messages: [{ key: 'zstd', value }],
    });
    await producer.disconnect();
    codecs[CompressionTypes.ZSTD] = ours;
    const taken = new Taken();
    const consumer = await log.topics.consume('eval.report', 'zstd', taken);
    await expect.poll(() => taken.values, SOON).toEqual([{ packed: true }]);
    await consumer.stop();
  });

  test('a record that is refused later is written as it came, copied or not', async () => {
    const key = 'refused';
    const value = Buffer.from(await createPlainCodec().encode('eval.report', { no: 'use' }));
    await deployment.raw('eval.report', key, value, { traceparent: 'trace', twice: ['a', 'b'] });
    const record = (await all(log.topics.list('eval.report'))).find((one) => one.key === key);
    if (record === undefined) throw new Error('not listed');
    expect(record.trace).toBe('trace');
    await log.topics.refuse({ ...record, trace: 'another' }, 'no_use', 'It is of no use.');
    expect((await letters()).find(({ code }) => code === 'no_use')).toMatchObject({
      reason: 'It is of no use.',
      bytes: value.toString('base64'),
      headers: [
        { key: 'traceparent', value: Buffer.from('trace').toString('base64') },
        { key: 'twice', value: Buffer.from('a').toString('base64') },
        { key: 'twice', value: Buffer.from('b').toString('base64') },
      ],
    });
  });
});

test('a registry that is away holds records back, in order, and nothing goes to the dead letters', async () => {
  const plain = createPlainCodec();
  let away = true;
  const codec: TopicCodec = {
    encode: (topic, value) => plain.encode(topic, value),
    decode: (topic, bytes) => {
      if (away) throw new SchemaError('registry_unavailable', 'the registry does not answer');
      return plain.decode(topic, bytes);
    },
  };
  const slow = await deployment.open({ codec });
  const taken = new Taken();
  const before = (await letters()).length;
  for (const n of [1, 2, 3]) await log.topics.publish('eval.report', 'waiting', n);
  const consumer = await slow.topics.consume('eval.report', 'registry', taken);
  // Longer than the session.
  await sleep(12_000);
  expect(taken.records).toEqual([]);
  away = false;
  await expect.poll(() => taken.values.filter((value) => typeof value === 'number'), SOON).toEqual([1, 2, 3]);
  expect(taken.gone).toEqual([]);
  expect(await letters()).toHaveLength(before);
  await consumer.stop();
  await slow.close();
});
