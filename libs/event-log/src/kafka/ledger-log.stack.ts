import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startCluster } from '../../../../test/stack/kafka.testkit.js';
import type { EvalRunId, SignedDraft } from '#lib/ledger';
import { all, Heard, follow } from '../contract.testkit.js';
import { Chain, drafts, freshEvaluation, sessionNamed, startedEvaluation } from '../fixtures.testkit.js';
import { type Deployment, deploy } from './deployment.testkit.js';
import { partitionOf } from './names.js';
import type { KafkaLog } from './open.js';

const PARTITIONS = 3;
let deployment: Deployment;
let log: KafkaLog;
beforeAll(async () => {
  deployment = await deploy(PARTITIONS);
  log = await deployment.open();
});
afterAll(() => deployment.close());

async function running(on = log) {
  const { child, parent, opening, runStarted } = await startedEvaluation();
  expect(await on.log.append(opening)).toBe('confirmed');
  expect(await on.log.append([runStarted])).toBe('confirmed');
  return { child, parent };
}

describe('an append', () => {
  test('of a writer that another process displaced is lost, and nothing of it joins', async () => {
    const other = await deployment.open();
    const { child } = await running();
    const following = await follow(log.log, child.evaluation, new Heard());
    const taker = child.as(sessionNamed('taker'));
    const [taken, late] = await Promise.all([taker.next(drafts.takeOver(child)), child.next(drafts.note('late'))]);
    const answers = await Promise.all([other.log.append([taken]), log.log.append([late])]);
    // Whoever came first in the log has it, and the other knows.
    expect(answers.toSorted()).toEqual(['confirmed', 'lost']);
    const winner = answers[0] === 'confirmed' ? ([other, taker] as const) : ([log, child] as const);
    expect(await winner[0].log.append([await winner[1].next(drafts.note('goes on'))])).toBe('confirmed');
    following.stop();
    await other.close();
  });

  test('is lost to a writer whose last entries were read back after it was displaced, though it was acknowledged', async () => {
    const { child } = await running();
    const taker = child.as(sessionNamed('raw taker'));
    const following = await follow(log.log, child.evaluation, new Heard());
    await deployment.putRaw(child.evaluation, (await taker.next(drafts.takeOver(child))).entry.envelope);
    expect(await log.log.append([await child.next(drafts.note('too late'))])).toBe('lost');
    following.stop();
  });

  test('of many entries goes through in order, though they are more than one send takes', async () => {
    const { child } = await running();
    const notes: SignedDraft[] = [];
    for (let n = 0; n < 60; n++) notes.push(await child.next(drafts.note(`${n} ${'x'.repeat(40_000)}`)));
    expect(await log.log.append(notes)).toBe('confirmed');
    expect(await all(log.log.records(child.evaluation))).toHaveLength(63);
  });

  test('is not taken by a closed log, and ends one that waits', async () => {
    const other = await deployment.open();
    const { child } = await running(other);
    const note = await child.next(drafts.note());
    await other.close();
    await expect(other.log.append([note])).rejects.toMatchObject({ code: 'log_closed' });
    await expect(other.topics.publish('eval.index', 'k', {})).rejects.toMatchObject({ code: 'log_closed' });
  });
});

describe('records', () => {
  test('of an evaluation begin where the index says, and the smallest place counts', async () => {
    const { child } = await running();
    const evaluation = child.evaluation;
    const [first] = await all(log.log.records(evaluation));
    const from = first?.position ?? 0;
    expect(await log.log.beginningOf(evaluation)).toBeNull();
    expect(from).toBeLessThan(await log.log.endFor(evaluation));
    for (const place of [from, from + 2]) {
      await log.topics.publish('eval.index', evaluation, { eval_run_id: evaluation, from: place, outcome: null });
    }
    expect(await log.log.beginningOf(evaluation)).toBe(from);
    expect(await all(log.log.records(evaluation))).toHaveLength(3);
    expect(await log.log.append([await child.next(drafts.note())])).toBe('confirmed');
  });

  test('that cannot be decoded are foreign, to followers and readers', async () => {
    const { child } = await running();
    const heard = new Heard();
    const following = await follow(log.log, child.evaluation, heard);
    for (const value of [Buffer.of(0, 1), Buffer.from('no frame'), null]) {
      await deployment.raw('eval.ledger', child.evaluation, value);
    }
    await following.caughtUp();
    expect(heard.foreignReasons).toHaveLength(3);
    expect(await log.log.append([await child.next(drafts.note())])).toBe('confirmed');
    const records = await all(log.log.records(child.evaluation));
    expect(records).toHaveLength(7);
    expect(records[4]?.record.payload).toEqual(Uint8Array.from(Buffer.from('no frame')));
    following.stop();
  });

  test('are in the partition that the hash of the evaluation names, and the list of evaluations has them all', async () => {
    const ids = await Promise.all(Array.from({ length: 9 }, async () => (await running()).child.evaluation));
    const listed = await all(log.log.evaluations());
    expect(listed).toEqual(expect.arrayContaining(ids));
    expect(new Set(ids.map((id) => partitionOf(id, PARTITIONS))).size).toBeGreaterThan(1);
    for (const id of ids) {
      const places = [0, 1, 2].filter((partition) => log.log.isPlaceOf(id, partition));
      expect(places).toEqual([partitionOf(id, PARTITIONS)]);
    }
    let scanned = 0;
    for await (const page of log.scan())
      scanned += page.filter(({ evaluation }) => ids.includes(evaluation as EvalRunId)).length;
    expect(scanned).toBe(27);
  });
});

test('an attachment of many parts comes back in another process, though others wrote parts of its name', async () => {
  const other = await deployment.open();
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  const whole = Buffer.concat(Array.from({ length: 40 }, () => bytes));
  const ref = await log.log.putAttachment(whole);
  const codec = (await import('../../../schemas/src/plain-codec.testkit.js')).createPlainCodec();
  const forged = { sha256: ref.sha256, index: 0, count: 5, size: whole.length, bytes: Uint8Array.of(1, 2, 3) };
  await deployment.raw('eval.attachment', ref.sha256, Buffer.from(await codec.encode('eval.attachment', forged)));
  await deployment.raw('eval.attachment', ref.sha256, Buffer.from('rubbish'));
  const found = await other.log.attachment(ref.sha256);
  expect(Buffer.compare(found ?? Buffer.of(), whole)).toBe(0);
  await other.close();
});

test('a follower that waits for nothing hears 5,000 entries of 250 evaluations, and the fold of each is whole', async () => {
  const other = await deployment.open();
  const runs = await Promise.all(Array.from({ length: 250 }, () => startedEvaluation()));
  const heard = new Map<EvalRunId, Heard>();
  await Promise.all(
    runs.slice(0, 125).map(async ({ parent }) => {
      const one = new Heard();
      heard.set(parent.evaluation, one);
      await follow(other.log, parent.evaluation, one);
    }),
  );
  const before = process.memoryUsage().heapUsed;
  await Promise.all(
    runs.map(async ({ child, opening, runStarted }) => {
      expect(await log.log.append(opening)).toBe('confirmed');
      expect(await log.log.append([runStarted])).toBe('confirmed');
      for (let n = 0; n < 17; n++)
        expect(await log.log.append([await child.next(drafts.note(`${n}`))])).toBe('confirmed');
    }),
  );
  await Promise.all(
    runs.map(async ({ parent }) => {
      const one = heard.get(parent.evaluation) ?? new Heard();
      const following = await follow(other.log, parent.evaluation, one);
      expect(one.joinings.slice(-20)).toEqual(Array.from({ length: 20 }, () => 'joined'));
      following.stop();
    }),
  );
  expect((process.memoryUsage().heapUsed - before) / 2 ** 20).toBeLessThan(200);
  await other.close();
});

test('a reply to a Produce that never came loses nothing, and what was sent after it is in order', async () => {
  const cluster = await startCluster();
  const alone = await deploy(1, cluster.brokers);
  try {
    const here = await alone.open({ brokers: cluster.brokers });
    const { child } = await running(here);
    const [{ proxy }] = cluster.members as [(typeof cluster.members)[number]];
    const dropped = proxy.dropProduceReply();
    const answers: Promise<string>[] = [];
    const other = await startedEvaluation(freshEvaluation());
    answers.push(here.log.append([await child.next(drafts.note('the reply is lost'))]));
    await sleep(5);
    answers.push(here.log.append(other.opening));
    await dropped;
    expect(await Promise.all(answers)).toEqual(['confirmed', 'confirmed']);
    for (let n = 0; n < 5; n++)
      expect(await here.log.append([await child.next(drafts.note(`${n}`))])).toBe('confirmed');
    const hashes = (await all(here.log.records(child.evaluation))).length;
    expect(hashes).toBeGreaterThanOrEqual(9);
    const heard = new Heard();
    (await follow(here.log, child.evaluation, heard)).stop();
    expect(heard.joinings.filter((joining) => joining === 'joined')).toHaveLength(9);
    expect(heard.joinings).not.toContain('superseded');
  } finally {
    await alone.close();
    await cluster.close();
  }
});

test('an evaluation that nobody of this process follows is judged by all that was written before', async () => {
  const other = await deployment.open();
  const { parent } = await running(other);
  const chain = new Chain(parent.evaluation, parent.evaluation, parent.head, parent.signer, parent.session);
  chain.seq = parent.seq;
  expect(await log.log.append([await chain.next(drafts.closed())])).toBe('confirmed');
  expect(await other.log.append([await parent.next(drafts.closed())])).toBe('lost');
  await other.close();
});
