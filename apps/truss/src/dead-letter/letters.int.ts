import { expect, onTestFinished, test } from 'vitest';
import type { JsonValue, TrustStore } from '#lib/ledger';
import { openTrustStore, toBase64, utf8 } from '#lib/ledger';
import { createMemoryLog } from '../../../../libs/event-log/src/memory-log.testkit.js';
import type { ReadDatabase } from '../database.js';
import { all, Said } from '../request/cluster.testkit.js';
import { listLetters, retryLetter, showLetter } from './run.js';

/** A log whose letters hold bytes, as Kafka's do. */
function clusterWith(decode: NonNullable<ReadDatabase['decode']>) {
  const trust: TrustStore = { version: 1, keys: [] };
  const keys = openTrustStore(trust);
  const open = createMemoryLog({ keys });
  onTestFinished(() => open.close());
  const place = {
    name: 'kafka',
    option: '--brokers kafka',
    isDriven: async () => true,
    open: async (): Promise<ReadDatabase> => ({ ...open, close: async () => {}, place, trust, keys, decode }),
  };
  const letter = (part: Readonly<Record<string, JsonValue>> = {}) =>
    open.topics.publish('eval.dead-letter', 'key', {
      code: 'not_framed',
      reason: 'no schema id',
      topic: 'eval.requested',
      partition: 3,
      position: 41,
      time: Date.parse('2026-12-01T10:00:00Z'),
      bytes: toBase64(utf8('raw')),
      headers: [{ key: 'ce_type', value: toBase64(utf8('truss.eval.requested')) }],
      ...part,
    });
  return { place, letter, topics: open.topics };
}
const reads = async (_topic: string, bytes: Uint8Array): Promise<JsonValue> => ({
  read: new TextDecoder().decode(bytes),
});

test('a letter says where its record stood, when it was refused and what it held', async () => {
  const { place, letter } = clusterWith(reads);
  await letter();
  await letter({ key: 'not a letter', code: 7 });
  const terminal = new Said();
  await listLetters({ last: 10 }, { place, terminal });
  expect(terminal.stdout).toMatch(
    /0\/1 +2026-12-01 10:00:00 UTC +eval\.requested\[3\]@41 +not_framed +key +no schema id/,
  );
  expect(terminal.stdout.trim().split('\n')).toHaveLength(2);
  const one = new Said();
  await showLetter('0/1', { place, terminal: one });
  expect(JSON.parse(one.stdout)).toMatchObject({
    value: { read: 'raw' },
    bytes: toBase64(utf8('raw')),
    headers: { ce_type: 'truss.eval.requested' },
  });
});

test('what it held is sent again as it was read', async () => {
  const { place, letter, topics } = clusterWith(reads);
  await letter();
  await retryLetter('0/1', { place, terminal: new Said() });
  const [record] = await all(topics.list('eval.requested'));
  expect(record).toMatchObject({ key: 'key', value: { read: 'raw' } });
});

test('what is sent again stays in its trace, and one without a trace gets none', async () => {
  const { place, letter, topics } = clusterWith(reads);
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await letter({ headers: [{ key: 'traceparent', value: toBase64(utf8(trace)) }] });
  await letter();
  const traces: unknown[] = [];
  const publish: typeof topics.publish = (topic, key, value, traced) => {
    traces.push(traced);
    return topics.publish(topic, key, value, traced);
  };
  const traced = { ...place, open: async () => ({ ...(await place.open()), topics: { ...topics, publish } }) };
  for (const id of ['0/1', '0/2']) await retryLetter(id, { place: traced, terminal: new Said() });
  expect(traces).toEqual([trace, undefined]);
});

test.each<[string, Readonly<Record<string, JsonValue>>, RegExp]>([
  ['what nobody can read', {}, /bytes that cannot be read \(rubbish\)/],
  ['a tombstone', { bytes: null }, /no value that could be read/],
  ['an entry of a ledger', { topic: 'eval.ledger' }, /only what asks for something is sent again/],
  ['another dead letter', { topic: 'eval.dead-letter' }, /only what asks for something is sent again/],
])('%s is not sent again', async (_what, part, reason) => {
  const { place, letter, topics } = clusterWith(() => Promise.reject(new Error('rubbish')));
  await letter(part);
  await expect(retryLetter('0/1', { place, terminal: new Said() })).rejects.toThrow(reason);
  for (const topic of ['eval.requested', 'eval.dead-letter'] as const) {
    expect(await all(topics.list(topic))).toHaveLength(topic === 'eval.requested' ? 0 : 1);
  }
  const terminal = new Said();
  await showLetter('0/1', { place, terminal });
  expect(JSON.parse(terminal.stdout)).toMatchObject({ code: 'not_framed' });
});

test('of many letters the newest are shown', async () => {
  const { place, letter } = clusterWith(reads);
  for (const position of [1, 2, 3]) await letter({ position });
  const terminal = new Said();
  await listLetters({ last: 2, json: true }, { place, terminal });
  expect(
    terminal.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).place),
  ).toEqual(['eval.requested[3]@2', 'eval.requested[3]@3']);
});
