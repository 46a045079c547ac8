import { describe, expect, test } from 'vitest';
import type { ChildRunId, Draft } from '#lib/ledger';
import { NO_SPEND } from '#lib/ledger';
import { decide, type DecideInput } from './decide.js';
import { contractWith, LEARNING } from '../../contract/src/smallest.testkit.js';
import { LESSON, requestFor, Scene } from './scene.testkit.js';

function inputAt(scene: Scene, part: Partial<DecideInput> = {}): DecideInput {
  let tokens = 0;
  return { now: scene.now, cancelled: null, starting: [], runToken: () => `run-${++tokens}`, ...part };
}

const types = (drafts: readonly Draft[]) => drafts.map((draft) => draft.type);
const requests = (drafts: readonly Draft[]) =>
  drafts.flatMap((draft) => (draft.type === 'child_requested' ? [draft.body] : []));
const requestedRuns = (drafts: readonly Draft[]) => requests(drafts).map((body) => body.child_run_id);

function decideAndAdd(scene: Scene, part: Partial<DecideInput> = {}): Draft[] {
  const drafts = decide(scene.view, inputAt(scene, part));
  scene.addAll(scene.evaluation, drafts);
  return drafts;
}

describe('given a plan with no run yet', () => {
  test('when the owner decides, then both arms of the first pair are requested with one seed and two tokens', () => {
    const scene = new Scene(requestFor(contractWith())).started();
    const drafts = decide(scene.view, inputAt(scene));
    expect(types(drafts)).toEqual(['child_requested', 'child_requested']);
    const [first, second] = requests(drafts);
    expect(
      requestedRuns(drafts)
        .map((id) => id.slice(scene.evaluation.length))
        .sort(),
    ).toEqual(['.0.off.1.1', '.0.on.1.1']);
    expect(first?.seed).toBe(second?.seed);
    expect(first?.run).not.toBe(second?.run);
  });

  test('then as many replicates run at once as the plan allows, each at its first repeat', () => {
    const scene = new Scene(requestFor(contractWith(), { replicates: 5, concurrency: 3 })).started();
    const drafts = decide(scene.view, inputAt(scene));
    expect(new Set(requestedRuns(drafts).map((id) => id.split('.')[3]))).toEqual(new Set(['1', '2', '3']));
    expect(drafts).toHaveLength(6);
  });

  test('then over many seeds each arm is dispatched first about as often as the other', () => {
    const first = Array.from({ length: 200 }, (_, seed) => {
      const scene = new Scene(requestFor(contractWith(), { seed })).started();
      return requestedRuns(decide(scene.view, inputAt(scene)))[0]?.includes('.on.') === true;
    });
    const on = first.filter(Boolean).length;
    expect(on).toBeGreaterThan(60);
    expect(on).toBeLessThan(140);
  });

  test('then the same seed gives the same order, cases and seeds', () => {
    const cases = Array.from({ length: 6 }, (_, i) => ({ id: `c${i}`, family: null, inputs: {}, expected: {} }));
    const make = () =>
      new Scene(requestFor(contractWith({ cases }), { seed: 99, replicates: 4, concurrency: 4 })).started();
    const [a, b] = [make(), make()];
    expect(decide(a.view, inputAt(a))).toEqual(decide(b.view, inputAt(b)));
  });
});

describe('given the first pair is running', () => {
  test('when one arm is sealed, then it is anchored and nothing else is requested', () => {
    const scene = new Scene(requestFor(contractWith())).started();
    const [first] = requestedRuns(decideAndAdd(scene));
    scene.run(first as ChildRunId, 'pass');
    expect(types(decide(scene.view, inputAt(scene)))).toEqual(['child_anchor']);
  });

  test('when both arms are sealed, then both are anchored and the next pair is requested in one step', () => {
    const scene = new Scene(requestFor(contractWith())).started();
    for (const id of requestedRuns(decideAndAdd(scene))) scene.run(id, 'pass');
    const drafts = decide(scene.view, inputAt(scene));
    expect(types(drafts)).toEqual(['child_anchor', 'child_anchor', 'child_requested', 'child_requested']);
    expect(requestedRuns(drafts).every((id) => id.endsWith('.1.2'))).toBe(true);
  });

  test('when only one of a pair was requested before a crash, then only the missing one is requested', () => {
    const scene = new Scene(requestFor(contractWith())).started();
    const [first, second] = decide(scene.view, inputAt(scene));
    scene.add(scene.evaluation, first as Draft);
    expect(requestedRuns(decide(scene.view, inputAt(scene)))).toEqual(requestedRuns([second as Draft]));
  });

  test('when the anchor is written, then it names the live head, the size and the Merkle root of the run', () => {
    const scene = new Scene(requestFor(contractWith())).started();
    const [first] = requestedRuns(decideAndAdd(scene));
    scene.run(first as ChildRunId, 'fail');
    const [anchor] = decide(scene.view, inputAt(scene));
    const chain = scene.entries.filter((entry) => entry.ledger === first);
    expect(anchor?.body).toMatchObject({
      child_run_id: first,
      entries: chain.length,
      head_hash: chain.at(-1)?.hash,
      verdict: 'fail',
    });
  });
});

describe('given a run that promoted a lesson', () => {
  const learning = contractWith({ learning: LEARNING });

  test('when the next pair is requested, then learning_on is offered the lesson and learning_off none', () => {
    const scene = new Scene(requestFor(learning)).started();
    for (const id of requestedRuns(decideAndAdd(scene)))
      scene.run(id, 'pass', id.includes('.on.') ? { lessons: [LESSON] } : {});
    const next = requests(decide(scene.view, inputAt(scene)));
    const lesson = scene.entries.find((entry) => entry.type === 'lesson_extracted');
    const ref = `${lesson?.ledger}#${lesson?.seq}@${lesson?.hash}`;
    expect(next.find((body) => body.child_run_id.includes('.on.'))?.lessons).toEqual([ref]);
    expect(next.find((body) => body.child_run_id.includes('.off.'))?.lessons).toEqual([]);
  });

  test('then another replicate is not offered it', () => {
    const scene = new Scene(requestFor(learning, { replicates: 2, concurrency: 1, repeats: 1 })).started();
    for (const id of requestedRuns(decideAndAdd(scene)))
      scene.run(id, 'pass', id.includes('.on.') ? { lessons: [LESSON] } : {});
    const next = requests(decide(scene.view, inputAt(scene)));
    expect(next.map((body) => body.child_run_id.split('.')[3])).toEqual(['2', '2']);
    expect(next.every((body) => body.lessons.length === 0)).toBe(true);
  });
});

describe('given every planned run is sealed', () => {
  function almostDone(): Scene {
    const scene = new Scene(requestFor(contractWith(), { repeats: 1 })).started();
    for (const id of requestedRuns(decideAndAdd(scene))) scene.run(id, 'pass');
    return scene;
  }

  test('when the owner decides, then the last anchors and a complete close come together', () => {
    const scene = almostDone();
    const drafts = decide(scene.view, inputAt(scene));
    expect(types(drafts)).toEqual(['child_anchor', 'child_anchor', 'eval_closed']);
    expect(drafts.at(-1)?.body).toMatchObject({ outcome: 'complete', anchors: 2 });
  });

  test('when a cancel arrives in the same moment, then what is complete stays complete', () => {
    const scene = almostDone();
    expect(decide(scene.view, inputAt(scene, { cancelled: 'too late' })).at(-1)?.body).toMatchObject({
      outcome: 'complete',
    });
  });

  test('when it is closed, then nothing more is written', () => {
    const scene = almostDone();
    decideAndAdd(scene);
    expect(decide(scene.view, inputAt(scene))).toEqual([]);
  });
});

describe('given an evaluation that must end early', () => {
  test('when it is cancelled, then it closes as cancelled with the anchors it has', () => {
    const scene = new Scene(requestFor(contractWith())).started();
    for (const id of requestedRuns(decideAndAdd(scene))) scene.run(id, 'pass');
    const drafts = decide(scene.view, inputAt(scene, { cancelled: 'asked to stop' }));
    expect(types(drafts)).toEqual(['child_anchor', 'child_anchor', 'eval_closed']);
    expect(drafts.at(-1)?.body).toEqual({ outcome: 'cancelled', anchors: 2, reason: 'asked to stop' });
  });

  test('when its deadline passes, then it closes as failed', () => {
    const scene = new Scene(requestFor(contractWith())).started();
    decideAndAdd(scene);
    scene.now += 60_000;
    expect(decide(scene.view, inputAt(scene))[0]?.body).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('deadline'),
    });
  });

  test('when reported spend reaches the budget of the evaluation, then it closes as failed before the next pair', () => {
    const scene = new Scene(requestFor(contractWith(), { max_cost_nano_usd: 100 })).started();
    const [first] = requestedRuns(decideAndAdd(scene));
    scene.add(first as ChildRunId, {
      type: 'run_started',
      body: {
        request: scene.view.state.children.get(first as ChildRunId)?.request.ref as never,
        contract_digest: 'd'.repeat(64) as never,
        budget: contractWith().budget,
        executor: { truss: '0', node: '0' },
      },
    });
    expect(decide(scene.view, inputAt(scene))).toEqual([]);
    scene.add(first as ChildRunId, {
      type: 'agent_reported',
      body: { events: [{ type: 'usage', usage: { ...NO_SPEND, cost_nano_usd: 100 } }] },
    });
    expect(decide(scene.view, inputAt(scene))[0]?.body).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('budget'),
    });
  });
});
