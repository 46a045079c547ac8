import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createMemoryLeases, openSqliteLog, type TopicHandler, type TopicRecord, type Topics } from '#lib/event-log';
import { type Entry, openTrustStore } from '#lib/ledger';
import { EvaluationViews, type Ports } from '#lib/runtime';
import { ViewsError } from '#lib/views';
import { contractWith, requestFor } from '../../../libs/evaluation/src/scene.testkit.js';
import { type Evaluated, evaluate, SIGNERS, trust } from '../../../libs/verification/src/evaluation.testkit.js';
import { MemoryViews } from '../../../libs/views/src/memory.testkit.js';
import { ProjectorService } from './projector.service.js';

/** Generous, since other tests share the machine. */
const SOON = { timeout: 20_000 };

let evaluated: Evaluated;
beforeAll(async () => {
  evaluated = await evaluate();
});
const cleanUp: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

/** A log with its topics, as one process of many sees it: partitions can be taken from it and given back. */
class World {
  readonly folder = mkdtempSync(join(tmpdir(), 'truss-projector-'));
  readonly keys = openTrustStore(trust);
  readonly open = openSqliteLog({ file: join(this.folder, 'truss.db'), keys: this.keys, mode: 'drive' });
  readonly views = new MemoryViews();
  readonly failures: unknown[] = [];
  committed = 0;
  private handler: TopicHandler | null = null;
  private readonly delivered: TopicRecord[] = [];

  constructor() {
    cleanUp.push(async () => {
      await this.open.close();
      rmSync(this.folder, { recursive: true, force: true });
      expect(this.failures).toEqual([]);
    });
  }

  private topics(): Topics {
    return {
      ...this.open.topics,
      consume: async (topic, group, handler) => {
        this.handler = handler;
        const consumer = await this.open.topics.consume(topic, group, {
          record: (record) => {
            this.delivered.push(record);
            handler.record(record);
          },
        });
        return {
          stop: () => consumer.stop(),
          commit: async (position) => {
            this.committed = position;
            await consumer.commit(position);
          },
        };
      },
    };
  }

  async projector(views: MemoryViews | null = this.views): Promise<ProjectorService> {
    const ports: Ports = {
      log: this.open.log,
      topics: this.topics(),
      leases: createMemoryLeases(() => performance.now()),
      ...(views === null ? {} : { views }),
      keys: this.keys,
      signers: SIGNERS,
      trustStore: { sha256: '0'.repeat(64), size: 0 },
      contracts: { fetch: async () => {}, locate: () => null, whyNot: () => null },
      requests: { resolve: () => Promise.reject(new Error('no intake here')), admit: async () => null },
      models: { env: {} },
      software: { truss: '0', node: '24' },
      leaseMs: 1_000,
      slots: 1,
      drives: () => true,
      now: () => Date.now(),
      random128: () => crypto.randomUUID().replaceAll('-', ''),
      below: (bound) => Math.floor(Math.random() * bound),
      fatal: (error) => this.failures.push(error),
    };
    const service = new ProjectorService(ports, new EvaluationViews(ports));
    await service.onApplicationBootstrap();
    cleanUp.push(() => service.onApplicationShutdown());
    return service;
  }

  async accept(): Promise<number> {
    const value = { kind: 'eval', eval_run_id: evaluated.evaluation, accepted_at: 0, from: 0 } as const;
    return this.open.topics.publish('eval.accepted', evaluated.evaluation, {
      ...value,
      request: requestFor(contractWith()),
    });
  }

  async append(entries: readonly Entry[]): Promise<void> {
    for (const [sha256, bytes] of evaluated.attachments) {
      expect((await this.open.log.putAttachment(bytes)).sha256).toBe(sha256);
    }
    for (const entry of entries) expect(await this.open.log.append([{ entry, attachment: null }])).toBe('confirmed');
  }

  lose(): void {
    this.handler?.lost?.([0]);
  }

  giveBack(): void {
    for (const record of this.delivered.splice(0)) this.handler?.record(record);
  }

  async published(): Promise<unknown[]> {
    const refs: unknown[] = [];
    for await (const { value } of this.open.topics.list('eval.report'))
      refs.push((value as { report_ref?: unknown }).report_ref);
    return refs;
  }

  async ledger(): Promise<number> {
    let records = 0;
    for await (const _ of this.open.log.records(evaluated.evaluation)) records += 1;
    return records;
  }
}

const closed = () => evaluated.entries.slice(0, -1);
const reportRef = () => evaluated.log.view.state.report?.ref;
const status = async (world: World) => (await world.views.evaluation(evaluated.evaluation))?.status;

describe('the projector', () => {
  test('writes the report of a complete evaluation, publishes it, keeps its views, and only then lets the acceptance go', async () => {
    const world = new World();
    await world.projector();
    const accepted = await world.accept();
    await world.append(evaluated.entries.slice(0, 5));
    await expect.poll(() => status(world), SOON).toBe('open');
    expect(world.committed).toBe(0);
    await world.append(closed().slice(5));
    await expect.poll(() => world.committed, SOON).toBe(accepted + 1);
    expect(await status(world)).toBe('complete');
    const row = await world.views.evaluation(evaluated.evaluation);
    expect(await world.published()).toEqual([row?.report_ref]);
    expect((await world.views.ledgers(evaluated.evaluation)).every(({ anchor }) => anchor?.agrees !== false)).toBe(
      true,
    );
  });

  test('that finds a report in the ledger publishes that one, and writes none', async () => {
    const world = new World();
    await world.append(evaluated.entries);
    const records = await world.ledger();
    const accepted = await world.accept();
    await world.projector();
    await expect.poll(() => world.committed, SOON).toBe(accepted + 1);
    expect(await world.published()).toEqual([reportRef()]);
    expect(await world.ledger()).toBe(records);
    expect(await world.views.report(evaluated.evaluation)).toMatchObject({ report_ref: reportRef() });
  });

  test('without views reports all the same', async () => {
    const world = new World();
    await world.append(closed());
    const accepted = await world.accept();
    await world.projector(null);
    await expect.poll(() => world.committed, SOON).toBe(accepted + 1);
    expect(await world.published()).toHaveLength(1);
  });

  test('publishes a report though the views are out of reach, and lets the acceptance go when they have it', async () => {
    const world = new World();
    await world.append(evaluated.entries);
    world.views.broken = new ViewsError('views_unavailable', 'gone');
    const accepted = await world.accept();
    await world.projector();
    await expect.poll(() => world.published(), SOON).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(world.committed).toBe(0);
    world.views.broken = null;
    await expect.poll(() => world.committed, SOON).toBe(accepted + 1);
    expect(await status(world)).toBe('complete');
  });

  test('stops at once though the views are out of reach, and leaves the acceptance to the next', async () => {
    const world = new World();
    await world.append(evaluated.entries);
    world.views.broken = new ViewsError('views_unavailable', 'gone');
    const accepted = await world.accept();
    const first = await world.projector();
    await expect.poll(() => world.published(), SOON).toHaveLength(1);
    const asked = performance.now();
    await first.onApplicationShutdown();
    expect(performance.now() - asked).toBeLessThan(1_000);
    expect(world.committed).toBe(0);
    world.views.broken = null;
    await world.projector();
    await expect.poll(() => world.committed, SOON).toBe(accepted + 1);
    expect(await status(world)).toBe('complete');
  });

  test('writes the views of an open evaluation anew when their store came back empty', async () => {
    const world = new World();
    await world.projector();
    await world.accept();
    await world.append(closed().slice(0, -2));
    const ledgers = async () => (await world.views.ledgers(evaluated.evaluation)).length;
    const all = new Set(closed().map(({ ledger }) => ledger)).size;
    await expect.poll(ledgers, SOON).toBe(all);
    world.views.empty();
    expect(await ledgers()).toBe(0);
    await world.append(closed().slice(-2, -1));
    await expect.poll(ledgers, SOON).toBe(all);
  });

  test('does nothing more for a partition that it lost, and all of it when it is given back', async () => {
    const world = new World();
    await world.projector();
    const accepted = await world.accept();
    await world.append(closed().slice(0, 5));
    await expect.poll(() => status(world), SOON).toBe('open');
    world.lose();
    await world.append(closed().slice(5));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await world.published()).toEqual([]);
    expect(await world.ledger()).toBe(closed().length);
    expect((await world.views.evaluation(evaluated.evaluation))?.records.joined).toBe(5);
    expect(world.committed).toBe(0);
    world.giveBack();
    await expect.poll(() => world.committed, SOON).toBe(accepted + 1);
    expect(await status(world)).toBe('complete');
    expect(await world.published()).toHaveLength(1);
  });
});
