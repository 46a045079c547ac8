import { describe, expect, test } from 'vitest';
import type { ChildRunId, Draft, KeyId } from '#lib/ledger';
import { decide } from '#lib/evaluation';
import { contractWith } from '../../contract/src/smallest.testkit.js';
import { requestFor, Scene } from '../../evaluation/src/scene.testkit.js';
import type { CoreEnv } from './effects.js';
import { RunCore, type RunEffect } from './run.js';

const LEASE = 9_000;

/** A requested run, its executor's core, and the little world around it. */
class Run {
  readonly scene = new Scene(requestFor(contractWith(), { repeats: 1 })).started();
  readonly child: ChildRunId;
  readonly core: RunCore;
  now = 1_000;
  private sessions = 1;

  constructor(requested = true) {
    const drafts = decide(this.scene.view, { now: 0, cancelled: null, starting: [], runToken: () => 'run' });
    const request = drafts.find(
      (draft) => draft.type === 'child_requested' && draft.body.child_run_id.includes('.off.'),
    );
    if (request?.type !== 'child_requested') throw new Error('no run was requested');
    this.child = request.body.child_run_id;
    if (requested) this.scene.add(this.scene.evaluation, request);
    const contract = contractWith();
    this.core = new RunCore(this.scene.evaluation, this.child, {
      key: this.executorKey,
      leaseMs: LEASE,
      context: () => ({
        child: this.child,
        request: { ref: this.record().request.ref, body: this.record().request.body },
        arm: { name: 'off', kind: 'learning_off', memory: { extraction: 'off', promotion: 'off', recall: 'off' } },
        contract,
        contractDigest: 'd'.repeat(64),
        rendered: { instructions: '', agent: contract.agent, criteria: contract.criteria },
        case: null,
        otherCases: [],
        software: { truss: '0', node: '0' },
      }),
    });
  }

  get executorKey(): KeyId {
    // The key with which a scene writes child ledgers.
    const probe = new Scene(requestFor(contractWith(), { repeats: 1 })).started();
    const [request] = decide(probe.view, { now: 0, cancelled: null, starting: [], runToken: () => 'run' });
    probe.add(probe.evaluation, request as Draft);
    const child = [...probe.view.live.children.keys()][0] as ChildRunId;
    return probe.add(child, { type: 'infrastructure_failed', body: { where: '', code: '', message: '' } }).entry.key;
  }

  record() {
    const record = this.scene.view.state.children.get(this.child);
    if (record === undefined) throw new Error('not requested');
    return record;
  }

  step(event: Parameters<RunCore['step']>[0]): RunEffect[] {
    const env: CoreEnv = {
      now: this.now,
      random128: () => (++this.sessions).toString(16).padStart(32, '0'),
      below: () => 0,
    };
    return this.core.step(event, this.scene.view, env);
  }

  /** Lets what the core asked to write join, by the session that it asked for. */
  confirm(effects: readonly RunEffect[]): RunEffect[] {
    const write = effects.find((effect) => effect.kind === 'write');
    if (write === undefined) throw new Error(`nothing is written: ${JSON.stringify(effects)}`);
    for (const draft of write.drafts)
      this.scene.add(this.child, draft, { session: Number.parseInt(write.session, 16) });
    return this.step({ kind: 'answered', answer: 'confirmed' });
  }

  /** As far as the first action. */
  claimed(): RunEffect[] {
    this.core.begin();
    expect(kinds(this.step({ kind: 'caught_up' }))).toEqual(['lease']);
    expect(kinds(this.step({ kind: 'leased', granted: true }))).toEqual(['read_to_end']);
    return this.confirm(this.step({ kind: 'caught_up' }));
  }
}

const kinds = (effects: readonly RunEffect[]) => effects.map((effect) => effect.kind);

describe('given a command', () => {
  test('when its request is not on the live chain yet, then it waits, and goes on when the request joins', () => {
    const run = new Run(false);
    expect(kinds(run.core.begin())).toEqual(['read_to_end']);
    expect(run.step({ kind: 'caught_up' })).toEqual([]);
    const drafts = decide(run.scene.view, { now: 0, cancelled: null, starting: [], runToken: () => 'run' });
    run.scene.addAll(run.scene.evaluation, drafts);
    expect(kinds(run.step({ kind: 'changed' }))).toEqual(['lease']);
  });

  test('when nothing was read to the end yet, then nothing is believed', () => {
    const run = new Run();
    run.core.begin();
    expect(run.step({ kind: 'changed' })).toEqual([]);
  });

  test("when another executor's lease is alive, then it waits without holding anything, and asks again", () => {
    const run = new Run();
    run.core.begin();
    run.step({ kind: 'caught_up' });
    expect(kinds(run.step({ kind: 'leased', granted: false }))).toEqual(['wake']);
    run.now += LEASE;
    expect(kinds(run.step({ kind: 'changed' }))).toEqual(['read_to_end']);
  });

  test('when its run is sealed already, then it is finished at once', () => {
    const run = new Run();
    run.scene.run(run.child, 'pass');
    run.core.begin();
    expect(kinds(run.step({ kind: 'caught_up' }))).toEqual(['release', 'finished']);
  });

  test('when an earlier writer left the run unfinished, then it is displaced by name before anything is done', () => {
    const run = new Run();
    run.claimed();
    const other = new RunCore(run.scene.evaluation, run.child, run.core['deps']);
    other.begin();
    const env = { now: run.now, random128: () => 'f'.repeat(32), below: () => 0 };
    other.step({ kind: 'caught_up' }, run.scene.view, env);
    other.step({ kind: 'leased', granted: true }, run.scene.view, env);
    const [write] = other.step({ kind: 'caught_up' }, run.scene.view, env);
    expect(write).toMatchObject({
      kind: 'write',
      drafts: [{ type: 'writer_changed', body: { displaced: { session: expect.stringMatching(/2$/) } } }],
    });
  });
});

describe('given a run whose action is under way', () => {
  test('then nothing else is done until it is performed', () => {
    const run = new Run();
    expect(kinds(run.claimed())).toContain('perform');
    expect(kinds(run.step({ kind: 'changed' }))).toEqual(['wake']);
  });

  test('when its agent stays silent, then the lease is renewed in time all the same', () => {
    const run = new Run();
    const wake = run.claimed().find((effect) => effect.kind === 'wake');
    if (wake === undefined) throw new Error('nobody wakes the core to renew its lease');
    expect(wake.at - run.now).toBeLessThanOrEqual(LEASE / 3);
    run.now = wake.at;
    expect(kinds(run.step({ kind: 'changed' }))).toEqual(['lease', 'wake']);
  });

  test('when a writer_changed displaces it, then the action is aborted, its result ignored and the command not finished', () => {
    const run = new Run();
    const perform = run.claimed().find((effect) => effect.kind === 'perform');
    const { chain } = run.scene.view.live.children.get(run.child) ?? {};
    run.scene.add(
      run.child,
      { type: 'writer_changed', body: { displaced: chain?.writer as never, reason: '' } },
      { session: 99 },
    );
    expect(kinds(run.step({ kind: 'changed' }))).toEqual(['abort', 'release', 'wake']);
    expect(run.step({ kind: 'performed', id: perform?.id as number, drafts: [] })).toEqual([]);
    run.now += LEASE;
    expect(kinds(run.step({ kind: 'changed' }))).toEqual(['read_to_end']);
  });

  test('when it is woken too early, then it asks to be woken again', () => {
    const run = new Run();
    run.claimed();
    run.step({ kind: 'answered', answer: 'lost' });
    const early = run.step({ kind: 'changed' });
    expect(early).toEqual([{ kind: 'wake', at: run.now + LEASE }]);
    run.now += LEASE;
    expect(kinds(run.step({ kind: 'changed' }))).toEqual(['read_to_end']);
  });

  test('when the evaluation closes, then the action is aborted and the command finished', () => {
    const run = new Run();
    run.claimed();
    run.scene.add(run.scene.evaluation, {
      type: 'eval_closed',
      body: { outcome: 'cancelled', anchors: 0, reason: '' },
    });
    expect(kinds(run.step({ kind: 'changed' }))).toEqual(['abort', 'release', 'finished']);
  });

  test('when its append is lost, then it stops under that session and draws a new one for the next attempt', () => {
    const run = new Run();
    const perform = run.claimed().find((effect) => effect.kind === 'perform');
    const answer: Draft = {
      type: 'answer_submitted',
      body: {
        ended: 'constant',
        exit_code: null,
        signal: null,
        output: { text: '' },
        usage: { cost_nano_usd: 0, steps: 0, input_tokens: 0, output_tokens: 0, unmeasured_calls: 0 },
      },
    };
    const write = run
      .step({ kind: 'performed', id: perform?.id as number, drafts: [answer] })
      .find((effect) => effect.kind === 'write');
    const before = write?.session;
    expect(kinds(run.step({ kind: 'answered', answer: 'lost' }))).toEqual(['release', 'wake']);
    run.now += LEASE;
    run.step({ kind: 'changed' });
    run.step({ kind: 'caught_up' });
    run.step({ kind: 'leased', granted: true });
    const [again] = run.step({ kind: 'caught_up' });
    expect(again?.kind === 'write' ? again.session : before).not.toBe(before);
  });
});
