import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ViewsError } from '#lib/views';
import { type Evaluated, evaluate } from '../../../libs/verification/src/evaluation.testkit.js';
import { MemoryViews } from '../../../libs/views/src/memory.testkit.js';
import { ProjectorWorld } from './projector.testkit.js';

/** Generous, since other tests share the machine. */
const SOON = { timeout: 20_000 };

let evaluated: Evaluated;
beforeAll(async () => {
  evaluated = await evaluate();
});
const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) expect(await world.close()).toEqual([]);
});

class World extends ProjectorWorld {
  readonly views = new MemoryViews();

  constructor() {
    super(evaluated);
    worlds.push(this);
  }
}

const closed = () => evaluated.entries.slice(0, -1);
const reportRef = () => evaluated.log.view.state.report?.ref;
const status = async (world: World) => (await world.views.evaluation(evaluated.evaluation))?.status;

describe('the projector', () => {
  test('writes the report of a complete evaluation, publishes it, keeps its views, and only then lets the acceptance go', async () => {
    const world = new World();
    await world.projector(world.views);
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
    await world.projector(world.views);
    await expect.poll(() => world.committed, SOON).toBe(accepted + 1);
    expect(await world.published()).toEqual([reportRef()]);
    expect(await world.ledger()).toBe(records);
    expect(await world.views.report(evaluated.evaluation)).toMatchObject({ report_ref: reportRef() });
  });

  test('lets an acceptance go that its owner refused, when no run of it could have any time left', async () => {
    const world = new World();
    await world.projector(world.views);
    const refused = await world.accept(Date.now() - 3_600_000);
    await expect.poll(() => world.committed, SOON).toBe(refused + 1);
    expect(await world.published()).toEqual([]);
    await world.accept();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(world.committed).toBe(refused + 1);
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
    await world.projector(world.views);
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
    const first = await world.projector(world.views);
    await expect.poll(() => world.published(), SOON).toHaveLength(1);
    const asked = performance.now();
    await first.onApplicationShutdown();
    expect(performance.now() - asked).toBeLessThan(1_000);
    expect(world.committed).toBe(0);
    world.views.broken = null;
    await world.projector(world.views);
    await expect.poll(() => world.committed, SOON).toBe(accepted + 1);
    expect(await status(world)).toBe('complete');
  });

  test('writes the views of an open evaluation anew when their store came back empty', async () => {
    const world = new World();
    await world.projector(world.views);
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
    await world.projector(world.views);
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
