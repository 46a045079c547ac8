import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ChildRunId, type Entry, refOf } from '#lib/ledger';
import { EvaluationFold } from './fold.js';
import { MemoryViews } from './memory.testkit.js';
import { ViewsError } from './port.js';
import { evaluationRowSchema, ledgerRowSchema, lessonRowSchema } from './rows.js';
import { complete, foldOf, learningScene, told, turn } from './scene.testkit.js';
import type { Scene } from '../../evaluation/src/scene.testkit.js';

async function viewsOf(entries: readonly Entry[]): Promise<MemoryViews> {
  const views = new MemoryViews();
  await views.write(foldOf(entries).change());
  return views;
}
const runOf = (scene: Scene, arm: string, repeat: number) => `${scene.evaluation}.0.${arm}.1.${repeat}` as ChildRunId;
const spent = { cost_nano_usd: 5, steps: 1, input_tokens: 2, output_tokens: 1, unmeasured_calls: 0 };

describe('the row of an evaluation', () => {
  test('says of a complete one how it ended, what it cost, and how the runs of each arm went', async () => {
    const scene = complete(learningScene(), (child) => ({
      verdict: child === runOf(learningScene(), 'off', 2) ? 'unverifiable' : child.includes('.on.') ? 'pass' : 'fail',
      usage: spent,
    }));
    const views = await viewsOf(scene.entries);
    const row = await views.evaluation(scene.evaluation);
    expect(evaluationRowSchema.safeParse(row).error).toBeUndefined();
    const { report, closed, started } = scene.view.state;
    expect(row).toMatchObject({
      eval_run_id: scene.evaluation,
      contract_id: 'sums',
      requester: 'tester',
      status: 'complete',
      reason: 'every planned run is anchored',
      verdict: 'pass',
      summary: report?.body['summary'],
      report_ref: report?.ref,
      started_at: started?.at,
      closed_at: closed?.at,
      runs: { planned: 4, requested: 4, anchored: 4 },
      usage: scene.view.state.spent,
      lessons: { promoted: 2, rejected: 0 },
      records: { joined: scene.entries.length, duplicates: 0, superseded: 0, foreign: 0 },
    });
    expect(row?.arms).toEqual([
      { arm: 'learning_on', planned: 2, requested: 2, anchored: 2, counts: { pass: 2, fail: 0, unverifiable: 0 } },
      { arm: 'learning_off', planned: 2, requested: 2, anchored: 2, counts: { pass: 0, fail: 1, unverifiable: 1 } },
    ]);
    expect(await views.report(scene.evaluation)).toEqual({ ...report?.body, report_ref: report?.ref });
  });

  test('follows the evaluation from open to reporting to complete, or to its cancel', async () => {
    const scene = complete(learningScene());
    const statusAt = async (entries: readonly Entry[]) =>
      (await (await viewsOf(entries)).evaluation(scene.evaluation))?.status;
    expect(await statusAt(scene.entries.slice(0, 1))).toBe('open');
    expect(await statusAt(scene.entries.slice(0, -2))).toBe('open');
    expect(await statusAt(scene.entries.slice(0, -1))).toBe('reporting');
    expect(await statusAt(scene.entries)).toBe('complete');
    const cancelled = learningScene();
    turn(cancelled, () => ({ verdict: 'pass' }));
    turn(cancelled, () => ({ verdict: 'pass' }), 'enough');
    const row = await (await viewsOf(cancelled.entries)).evaluation(cancelled.evaluation);
    expect(row).toMatchObject({ status: 'cancelled', reason: 'enough', verdict: null, report_ref: null });
    expect(row?.runs).toEqual({ planned: 4, requested: 2, anchored: 2 });
  });

  test('is not there before the evaluation has started, whatever is written under its name', () => {
    const fold = new EvaluationFold(learningScene().evaluation);
    fold.foreign(10);
    expect(fold.dirty).toBe(false);
    expect(() => fold.change()).toThrow('has not started');
  });

  test('charges superseded work once, and counts copies, superseded entries and foreign records', async () => {
    const scene = learningScene();
    turn(scene, () => ({ verdict: 'pass' }));
    const child = runOf(scene, 'on', 1);
    const started = scene.entries.find(({ ledger, seq }) => ledger === child && seq === 0);
    const late = scene.add(
      child,
      { type: 'agent_reported', body: { events: [{ type: 'usage', usage: spent }] } },
      { session: 9, prev: started!.hash, seq: 1 },
    );
    expect(late.joining).toBe('superseded');
    const entries = [...scene.entries, late.entry, started!];
    const fold = foldOf(entries);
    fold.foreign(1_000);
    const views = new MemoryViews();
    await views.write(fold.change());
    const row = await views.evaluation(scene.evaluation);
    expect(row?.usage.cost_nano_usd).toBe(5);
    expect(row?.records).toEqual({ joined: scene.entries.length - 1, duplicates: 1, superseded: 2, foreign: 1 });
    const ledgers = await views.ledgers(scene.evaluation);
    expect(ledgers.find(({ ledger }) => ledger === child)).toMatchObject({ duplicates: 1, superseded: 2, foreign: 0 });
    expect(ledgers[0]).toMatchObject({ ledger: scene.evaluation, foreign: 1 });
  });
});

test('whatever comes after the end of an evaluation changes nothing, not even the position', () => {
  const scene = complete(learningScene());
  const fold = foldOf(scene.entries);
  fold.written(fold.change());
  fold.foreign(100_000);
  const [first] = told(scene.entries);
  first?.(fold);
  expect(fold.dirty).toBe(false);
  expect(fold.ended).toBe(true);
});

describe('the status of a ledger', () => {
  test('has the size, head and root that its anchor has, and says that they agree', async () => {
    const scene = complete(learningScene());
    const ledgers = await (await viewsOf(scene.entries)).ledgers(scene.evaluation);
    expect(ledgers).toHaveLength(5);
    for (const row of ledgers) expect(ledgerRowSchema.safeParse(row).error).toBeUndefined();
    const parent = scene.entries.filter(({ ledger }) => ledger === scene.evaluation);
    expect(ledgers[0]).toMatchObject({
      ledger: scene.evaluation,
      state: 'reported',
      entries: parent.length,
      head_hash: parent.at(-1)?.hash,
    });
    for (const { id, anchor } of scene.view.state.children.values()) {
      const row = ledgers.find(({ ledger }) => ledger === id);
      expect(row).toMatchObject({
        state: 'anchored',
        entries: anchor?.body.entries,
        head_hash: anchor?.body.head_hash,
        root_hash: anchor?.body.root_hash,
        anchor: { ref: anchor?.ref, agrees: true },
        verdict: 'pass',
        verdict_ref: anchor?.body.verdict_ref,
      });
    }
  });

  test('says so when an anchor does not agree with the chain', async () => {
    const scene = learningScene();
    turn(scene, () => ({ verdict: 'pass' }));
    const honest = complete(learningScene()).entries.find(({ type }) => type === 'child_anchor');
    if (honest?.type !== 'child_anchor') throw new Error('no anchor');
    const body = { ...honest.body, root_hash: honest.body.head_hash };
    scene.add(scene.evaluation, { type: 'child_anchor', body });
    const ledgers = await (await viewsOf(scene.entries)).ledgers(scene.evaluation);
    const row = ledgers.find(({ ledger }) => ledger === body.child_run_id);
    expect(row).toMatchObject({ state: 'anchored', anchor: { agrees: false } });
    expect(row?.root_hash).not.toBe(body.root_hash);
  });

  test('goes from requested to open to sealed, and counts take-overs', async () => {
    const scene = learningScene();
    turn(scene, () => ({ verdict: 'fail' }));
    const child = runOf(scene, 'on', 1);
    const own = scene.entries.filter(({ ledger }) => ledger === child);
    const requested = scene.entries.filter(({ ledger }) => ledger === scene.evaluation);
    const rowAt = async (entries: readonly Entry[]) => {
      const rows = await (await viewsOf(entries)).ledgers(scene.evaluation);
      return rows.find(({ ledger }) => ledger === child);
    };
    expect(await rowAt(requested)).toMatchObject({ state: 'requested', entries: 0, head_hash: null, root_hash: null });
    expect(await rowAt([...requested, own[0]!])).toMatchObject({ state: 'open', entries: 1, root_hash: null });
    const sealed = await rowAt([...requested, ...own]);
    expect(sealed).toMatchObject({ state: 'sealed', verdict: 'fail', anchor: null, writers_changed: 0 });
    const taken = learningScene();
    taken.addAll(taken.evaluation, [
      { type: 'child_requested', body: scene.view.state.children.get(child)!.request.body },
    ]);
    if (own[0]?.type !== 'run_started') throw new Error('a run begins with run_started');
    const first = taken.add(child, { type: 'run_started', body: own[0].body });
    const displaced = { key: first.entry.key, session: first.entry.session };
    taken.add(child, { type: 'writer_changed', body: { displaced, reason: 'test' } }, { session: 2 });
    const rows = await (await viewsOf(taken.entries)).ledgers(taken.evaluation);
    expect(rows.find(({ ledger }) => ledger === child)).toMatchObject({ entries: 2, writers_changed: 1 });
  });
});

describe('lessons', () => {
  test('are shown with their text, whose they are, and what became of the runs that saw them', async () => {
    const scene = complete(learningScene());
    const lessons = await (await viewsOf(scene.entries)).lessons(scene.evaluation);
    for (const row of lessons) expect(lessonRowSchema.safeParse(row).error).toBeUndefined();
    expect(lessons).toMatchObject([
      {
        child_run_id: runOf(scene, 'on', 1),
        state: 'promoted',
        anchored: true,
        content: { title: 'Carry' },
        counters: { offered: 1, rendered: 1, cited: 0, after: { pass: 1, fail: 0, unverifiable: 0 } },
      },
      { child_run_id: runOf(scene, 'on', 2), state: 'promoted', anchored: true, counters: { offered: 0, rendered: 0 } },
    ]);
  });

  test('that a gate rejected are shown with the gate and its reason, though something promoted them before or after', async () => {
    const scene = learningScene();
    turn(scene, () => ({ verdict: 'pass' }));
    const extracted = scene.entries.find(({ type }) => type === 'lesson_extracted');
    const upTo = scene.entries.indexOf(extracted!) + 1;
    const other = learningScene();
    for (const entry of scene.entries.slice(1, upTo)) other.add(entry.ledger, entry);
    const lesson = refOf(other.entries.at(-1)!);
    const child = extracted!.ledger;
    other.add(child, { type: 'lesson_rejected', body: { lesson, gate: 'panel', reason: 'two of three said no' } });
    other.add(child, { type: 'lesson_promoted', body: { lesson, gates: [], quorum: 0, checks: [], votes: [] } });
    const views = await viewsOf(other.entries);
    expect(await views.lessons(other.evaluation)).toMatchObject([
      { state: 'rejected', gate: 'panel', reason: 'two of three said no', anchored: false },
    ]);
    expect((await views.evaluation(other.evaluation))?.lessons).toEqual({ promoted: 0, rejected: 1 });
  });
});

describe('changes', () => {
  const scene = complete(learningScene(), (child) => ({
    verdict: child.includes('.on.') ? 'pass' : 'fail',
    usage: spent,
  }));
  const steps = told(scene.entries);

  async function rowsOf(views: MemoryViews) {
    const id = scene.evaluation;
    return [await views.list(), await views.report(id), await views.ledgers(id), await views.lessons(id)];
  }

  test('hold only what changed', () => {
    const fold = new EvaluationFold(scene.evaluation);
    for (const tell of steps.slice(0, 3)) tell(fold);
    const first = fold.change();
    expect(first.base).toBeNull();
    fold.written(first);
    expect(fold.dirty).toBe(false);
    steps[3]?.(fold);
    const second = fold.change();
    expect(second).toMatchObject({ base: first.position, position: 40 });
    expect(second.rows.map(({ view, key }) => `${view} ${key}`)).toEqual([
      'evaluation ',
      `ledger ${scene.entries[3]?.ledger}`,
    ]);
  });

  test('of which an earlier one is said to be written are in the next one still', () => {
    const fold = new EvaluationFold(scene.evaluation);
    for (const tell of steps.slice(0, 3)) tell(fold);
    fold.written(fold.change());
    steps[3]?.(fold);
    const earlier = fold.change();
    steps[4]?.(fold);
    const later = fold.change();
    fold.written(earlier);
    expect(fold.change()).toEqual(later);
  });

  test('written one after another, by any number of projectors, with lost answers and a lost store, end in the same rows', async () => {
    const expected = await rowsOf(await viewsOf(scene.entries));
    const act = fc.record({
      projector: fc.nat(2),
      reads: fc.nat(12),
      fault: fc.constantFrom('none', 'none', 'none', 'not written', 'answer lost', 'store lost'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 25 }), async (acts) => {
        const views = new MemoryViews();
        const projectors = Array.from({ length: 3 }, () => ({ fold: new EvaluationFold(scene.evaluation), at: 0 }));
        const step = async (one: (typeof projectors)[number], reads: number, fault: string) => {
          for (const tell of steps.slice(one.at, one.at + reads)) tell(one.fold);
          one.at += reads;
          if (fault === 'store lost') views.empty();
          if (!one.fold.dirty) return;
          const change = one.fold.change();
          views.broken = fault === 'not written' ? new ViewsError('views_unavailable', 'gone') : null;
          const answer = await views.write(change).catch(() => 'failed');
          views.broken = null;
          if (answer === 'failed' || fault === 'answer lost') return;
          if (answer !== 'gap') return one.fold.written(change);
          const whole = one.fold.whole();
          expect(await views.write(whole)).not.toBe('gap');
          one.fold.written(whole);
        };
        for (const { projector, reads, fault } of acts) await step(projectors[projector]!, reads, fault);
        // One of them reads to the end. A store that was lost after all had written is for `truss views rebuild`.
        const last = projectors[0]!;
        if (last.at >= steps.length) return;
        await step(last, steps.length, 'none');
        expect(await rowsOf(views)).toEqual(expected);
      }),
      { numRuns: 150 },
    );
  });
});
