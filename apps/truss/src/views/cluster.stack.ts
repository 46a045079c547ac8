import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { deployTopics } from '#lib/event-log/kafka';
import { type Entry, trustStoreBytes } from '#lib/ledger';
import { deploySchemas } from '#lib/schemas';
import { readConfig } from '#lib/service';
import type { Views } from '#lib/views';
import { createRedisViews } from '#lib/views/redis';
import { type Evaluated, evaluate, trust } from '../../../../libs/verification/src/evaluation.testkit.js';
import { acceptanceOf, projectorPorts, startProjector } from '../../../projector/src/projector.testkit.js';
import { type Distributed, openDistributed } from '../distributed.js';
import { truss, withEnv } from '../in-process.testkit.js';

/** Generous, since other tests share the machine. */
const SOON = { timeout: 60_000 };

const { brokers, registry, redis } = inject('stack');
const prefix = `t-${randomBytes(4).toString('hex')}.`;
const folder = mkdtempSync(join(tmpdir(), 'truss-views-'));
const environment = {
  TRUSS_BROKERS: brokers.join(','),
  TRUSS_REGISTRY: registry,
  TRUSS_REDIS: redis,
  TRUSS_PREFIX: prefix,
  TRUSS_TRUST_FILE: join(folder, 'trust.json'),
};
const failures: unknown[] = [];
const opened: Distributed[] = [];
let evaluated: Evaluated[];

async function process(): Promise<Distributed> {
  const config = readConfig(environment, {}, { parts: ['kafka', 'registry', 'trust'] });
  const one = await openDistributed(config, { fatal: (error) => failures.push(error) });
  opened.push(one);
  return one;
}

function viewsOf({ redis: client }: Distributed): Views {
  if (client === null) throw new Error('no Redis is configured');
  return createRedisViews(client, { prefix });
}

async function append({ log }: Distributed, entries: readonly Entry[]): Promise<void> {
  for (const entry of entries) expect(await log.append([{ entry, attachment: null }])).toBe('confirmed');
}

beforeAll(async () => {
  writeFileSync(environment.TRUSS_TRUST_FILE, trustStoreBytes(trust));
  evaluated = await Promise.all([evaluate({ seed: 1 }), evaluate({ seed: 2 })]);
  const connection = { brokers, clientId: 'test' };
  await deployTopics({ connection, prefix, partitions: 2, replication: 1, minInsyncReplicas: 1 });
  await deploySchemas({ registry: { url: registry }, prefix });
});
afterAll(async () => {
  for (const one of opened) await one.close();
  rmSync(folder, { recursive: true, force: true });
});

test('two projectors on Kafka keep the views of all evaluations, the reports are published, and a rebuild finds the same rows', async () => {
  const writer = await process();
  const [first, second] = [await process(), await process()];
  const views = viewsOf(first);
  const projectors = await Promise.all(
    [first, second].map((one) => {
      const { log, topics, keys } = one;
      const fatal = (error: unknown) => failures.push(error);
      return startProjector(projectorPorts({ log, topics, keys, views: viewsOf(one), fatal }));
    }),
  );
  for (const { attachments } of evaluated) {
    for (const bytes of attachments.values()) await writer.log.putAttachment(bytes);
  }
  for (const [index, { evaluation }] of evaluated.entries()) {
    const { from, ...acceptance } = acceptanceOf(evaluation, index + 1);
    await writer.topics.publish('eval.index', evaluation, { eval_run_id: evaluation, from, outcome: null });
    await writer.topics.publish('eval.accepted', evaluation, { ...acceptance, from });
  }
  await Promise.all(evaluated.map(({ entries }) => append(writer, entries.slice(0, 8))));
  const statuses = async () => (await views.list()).map(({ status }) => status);
  await expect.poll(statuses, SOON).toEqual(['open', 'open']);
  await Promise.all(evaluated.map(({ entries }) => append(writer, entries.slice(8, -1))));
  await expect.poll(statuses, SOON).toEqual(['complete', 'complete']);
  const published = async () => {
    const refs: unknown[] = [];
    for await (const { value } of writer.topics.list('eval.report'))
      refs.push((value as { report_ref?: string }).report_ref);
    return refs.toSorted();
  };
  const shown = async () => (await views.list()).map(({ report_ref }) => report_ref).toSorted();
  await expect.poll(published, SOON).toEqual(await shown());
  for (const { evaluation } of evaluated) {
    const ledgers = await views.ledgers(evaluation);
    expect(ledgers.filter(({ anchor }) => anchor?.agrees === true)).toHaveLength(ledgers.length - 1);
  }
  for (const projector of projectors) await projector.onApplicationShutdown();

  withEnv(environment);
  const said = await truss('views', 'rebuild');
  expect(said).toMatchObject({ code: 0, stdout: '' });
  expect(said.stderr).toContain('2 evaluations built');
  expect(said.stderr).toContain('What was shown is what the log says.');
  expect(await statuses()).toEqual(['complete', 'complete']);
  expect(failures).toEqual([]);
});
