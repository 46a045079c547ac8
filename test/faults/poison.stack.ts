import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import type { EvalRunId, JsonValue } from '#lib/ledger';
import { openCodec, type TopicCodec, WIRE_TOPICS, type WireTopic } from '#lib/schemas';
import { askFor } from '../../apps/truss/src/request/ask.js';
import { clusterPlace } from '../../apps/truss/src/place.js';
import { CHUNK, ENTRY, valuesOf } from '../../libs/schemas/src/values.testkit.js';
import { Deployment } from './deployment.testkit.js';
import { type Outcome, undisturbed } from './outcome.testkit.js';
import { type Foreign, RawProducer, type Written } from './raw.testkit.js';
import { Work } from './work.testkit.js';

const PLAN = { repeats: 1, replicates: 1, seed: 5 };
const RUNS = 2;
const SOON = { timeout: 90_000, interval: 100 };
const { brokers, registry } = inject('stack');

const work = new Work();
let at: Deployment;
let codec: TopicCodec;
let raw: RawProducer;
let contract: string;
let calm: Outcome;

beforeAll(async () => {
  contract = work.programContract(10);
  calm = await undisturbed(contract, PLAN);
  at = await Deployment.deploy({ stack: inject('stack') });
  codec = await openCodec({ registry: { url: registry }, prefix: at.prefix });
  raw = await RawProducer.connect(brokers, at.prefix);
});
afterAll(async () => {
  await raw?.close();
  await at?.close();
  work.close();
});

/** Must come out as if nothing were wrong, and each of its programs runs once. */
async function comesOut(evaluation: EvalRunId): Promise<void> {
  expect(await at.outcomeOf(evaluation)).toEqual(calm);
  expect(work.done('agent')).toHaveLength(RUNS);
  await at.verify(evaluation);
}

async function goesOn(): Promise<void> {
  work.clear();
  await comesOut(await at.request(contract, PLAN));
}

const letter = z.object({
  code: z.string(),
  topic: z.string(),
  partition: z.int(),
  position: z.int(),
  bytes: z.string().nullable(),
  headers: z.json(),
});
async function letters(topic: WireTopic): Promise<(z.infer<typeof letter> & { readonly key: string })[]> {
  const all = await at.list('eval.dead-letter');
  const found = all.map(({ key, value }) => ({ key, ...letter.parse(value) }));
  const of = found.filter((one) => one.topic === topic);
  return of.toSorted((a, b) => a.partition - b.partition || a.position - b.position);
}

/** What a letter about the record must say. */
function letterOf({ key, value, partition, position }: Written, code: string) {
  return expect.objectContaining({
    ...{ code, partition, position, key },
    bytes: value?.toString('base64') ?? null,
    headers: [{ key: 'from', value: Buffer.from('elsewhere').toString('base64') }],
  });
}

/** Values that their schema allows and that mean nothing here. */
async function nonsense(topic: WireTopic): Promise<Buffer[]> {
  const values = await valuesOf();
  const encoded = async (value: JsonValue) =>
    Buffer.from(await codec.encode(topic as Exclude<WireTopic, 'eval.ledger' | 'eval.attachment'>, value));
  switch (topic) {
    case 'eval.ledger':
      return [Buffer.from(await codec.encode(topic, ENTRY))];
    case 'eval.attachment':
      return [Buffer.from(await codec.encode(topic, CHUNK))];
    case 'eval.accepted': {
      const [accepted, cancel] = values[topic] as [object, object];
      const acceptances = [accepted, { ...accepted, eval_run_id: 'nonsense' }, { ...cancel, eval_run_id: 'nonsense' }];
      return Promise.all(acceptances.map((value) => encoded(value as JsonValue)));
    }
    default:
      return [await encoded(values[topic][0] ?? null)];
  }
}

/** What no reader of a topic can decode, with the code of its letter. */
async function undecodable(topic: WireTopic): Promise<[Foreign, string][]> {
  const [good = Buffer.of()] = await nonsense(topic);
  const of = (value: Buffer | null, zstd = false): Foreign => ({
    key: `poison of ${topic}`,
    value,
    headers: { from: 'elsewhere' },
    zstd,
  });
  return [
    [of(Buffer.of(0, 1)), 'not_framed'],
    [of(Buffer.concat([Buffer.of(7), good.subarray(1)])), 'not_framed'],
    [of(Buffer.concat([Buffer.of(0, 127, 255, 255, 254), good.subarray(5)])), 'schema_unknown'],
    [of(Buffer.concat([good.subarray(0, 5), Buffer.alloc(40, 0xff)])), 'value_malformed'],
    [of(Buffer.from('packed by somebody else'), true), 'not_framed'],
    [of(Buffer.alloc(900 * 1024, 1)), 'not_framed'],
  ];
}

/** The topics of groups that work: what they answer to nonsense, and how many of them there are. */
const CONSUMED = new Map<WireTopic, { readonly code: string; readonly groups: number }>([
  ['eval.requested', { code: 'contract_not_registered', groups: 1 }],
  ['eval.accepted', { code: 'bad_acceptance', groups: 2 }],
  ['eval.child-run.commands', { code: 'bad_id', groups: 1 }],
]);
/** What coordinators guard, though nobody consumes it. */
const GUARDED: readonly WireTopic[] = ['eval.ledger', 'eval.attachment', 'eval.index', 'eval.contract'];

function pids(): number[] {
  return at.services.filter(({ alive }) => alive).map(({ pid }) => pid);
}

describe('poison', () => {
  test.each([...CONSUMED.keys()])('on %s is in the dead letters as it came, and the services go on', async (topic) => {
    const before = pids();
    const { code, groups } = CONSUMED.get(topic) ?? { code: '', groups: 0 };
    const expected: unknown[] = [];
    const written = async (record: Foreign, why: string, times: number) => {
      const at = await raw.put(topic, record, 0);
      for (let group = 0; group < times; group++) expected.push(letterOf(at, why));
    };
    const [first] = await undecodable(topic);
    for (const [record, why] of await undecodable(topic)) await written(record, why, groups);
    await written({ ...(first?.[0] as Foreign), value: null }, 'value_malformed', groups);
    // The coordinator alone judges what an acceptance says.
    for (const value of await nonsense(topic)) await written({ ...(first?.[0] as Foreign), value }, code, 1);
    await expect.poll(async () => (await letters(topic)).length, SOON).toBeGreaterThanOrEqual(expected.length);
    expect(await letters(topic)).toEqual(expected);
    await goesOn();
    expect(pids()).toEqual(before);
  });

  test('on the topics that nobody works from is in the dead letters too, and stops no evaluation on them', async () => {
    const before = pids();
    work.clear();
    work.shut();
    const open = await at.request(contract, PLAN);
    await expect.poll(() => work.done('agent').length, SOON).toBe(RUNS);
    const expected = new Map<WireTopic, unknown[]>();
    for (const topic of WIRE_TOPICS) {
      if (CONSUMED.has(topic)) continue;
      const found: unknown[] = [];
      expected.set(topic, found);
      for (const [record, why] of await undecodable(topic)) {
        // As if it were of the evaluation that is open.
        found.push(letterOf(await raw.put(topic, { ...record, key: open }, 0), why));
      }
      for (const value of await nonsense(topic)) await raw.put(topic, { key: 'nonsense', value }, 0);
      // On a topic that is compacted, a deletion.
      await raw.put(topic, { key: 'nonsense', value: null, headers: { from: 'elsewhere' } }, 0);
    }
    work.open();
    await comesOut(open);
    for (const topic of GUARDED) {
      const mine = async () => (await letters(topic)).filter(({ key }) => key === open);
      await expect.poll(async () => (await mine()).length, SOON).toBe(expected.get(topic)?.length);
      expect(await mine()).toEqual(expected.get(topic));
    }
    await goesOn();
    expect(pids()).toEqual(before);
  });
});

/** The request as `truss request` makes it, in its bytes. */
async function requestBytes(requestId: string): Promise<{ readonly evaluation: EvalRunId; readonly value: Buffer }> {
  const key = `${at.folder}/keys/requester.key`;
  const flags = { contract, key, audience: 'truss', ...PLAN, concurrency: 1, requestId };
  const cluster = { ...at.cluster, place: clusterPlace({}, brokers.join(',')) };
  const { evaluation, request } = await askFor(flags, cluster, Date.now());
  return { evaluation, value: Buffer.from(await codec.encode('eval.requested', request)) };
}

test('one request through the partitioner of Java and that of librdkafka is one evaluation', async () => {
  work.clear();
  const librdkafka = await RawProducer.connect(brokers, at.prefix, () => ({ partitionMetadata, message }) => {
    return crc32(String(message.key)) % partitionMetadata.length;
  });
  const { evaluation, value } = await requestBytes('two partitioners');
  // A key that the two put on different partitions.
  const places = new Set<number>();
  for (let n = 0; places.size < 2; n++) {
    const record = { key: `tester/two partitioners/${n}`, value };
    places.clear();
    for (const producer of [raw, librdkafka]) places.add((await producer.put('eval.requested', record)).partition);
  }
  await comesOut(evaluation);
  const started = (await at.entries(evaluation)).filter(({ type }) => type === 'eval_started');
  expect(started).toHaveLength(1);
  expect(await at.list('eval.report', evaluation)).toHaveLength(1);
  await librdkafka.close();
});

test('forged commands run nothing: of no evaluation, of runs that are not planned, of runs before and after their turn', async () => {
  // Another contract, whose files no executor has yet: the first command that names it says where they may be had.
  contract = work.programContract(11);
  work.clear();
  const { evaluation, value } = await requestBytes('forged');
  const evil = `ev_${'0'.repeat(32)}` as EvalRunId;
  const forged = [evil, evaluation].flatMap((id) =>
    ['on', 'off', 'other'].flatMap((arm) => [1, 2].map((repeat) => `${id}.0.${arm}.1.${repeat}`)),
  );
  const forge = async () => {
    for (const child of forged) {
      // Its hints name nothing that there is.
      const files = [{ toml: { sha256: '0'.repeat(64), size: 1 }, archive: null }];
      const command = Buffer.from(await codec.encode('eval.child-run.commands', { child_run_id: child, files }));
      await raw.put('eval.child-run.commands', { key: child, value: command });
    }
  };
  await forge();
  await raw.put('eval.requested', { key: 'forged', value });
  await comesOut(evaluation);
  await forge();
  const refused = async () => (await letters('eval.child-run.commands')).filter(({ code }) => code === 'not_requested');
  // Those of before that nobody requested, after a minute.
  await expect.poll(async () => new Set((await refused()).map(({ key }) => key)).size, SOON).toBeGreaterThanOrEqual(6);
  expect(new Set((await refused()).map(({ key }) => key)).has(`${evaluation}.0.on.1.1`)).toBe(false);
  expect(work.done('agent')).toHaveLength(RUNS);
  const children = (await at.entries(evaluation)).filter(({ type }) => type === 'run_started');
  expect(children.map(({ ledger }) => ledger).toSorted()).toEqual([
    `${evaluation}.0.off.1.1`,
    `${evaluation}.0.on.1.1`,
  ]);
  await at.verify(evaluation);
});
