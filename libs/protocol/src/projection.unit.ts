import { describe, expect, test } from 'vitest';
import type { KeyId } from '#lib/ledger';
import { contractWith } from '../../contract/src/smallest.testkit.js';
import { requestFor, Scene } from '../../evaluation/src/scene.testkit.js';
import { ProjectionCore } from './projection.js';

const BEGINS_BY = 5_000;
const env = (now: number) => ({ now, random128: () => '0'.repeat(32), below: () => 0 });

function projection() {
  const scene = new Scene(requestFor(contractWith()));
  const state = { phase: 'following', writing: false } as const;
  const core = new ProjectionCore(scene.evaluation, 'projector' as KeyId, { ...state }, BEGINS_BY);
  return { scene, core, wake: [{ kind: 'wake', at: BEGINS_BY }] };
}

describe('an evaluation that nobody began', () => {
  test('is waited for until it can have no report any more, and given up after a reading of the log to its end', () => {
    const { scene, core, wake } = projection();
    expect(core.begin()).toEqual(wake);
    expect(core.step({ kind: 'changed' }, scene.view, env(BEGINS_BY - 1))).toEqual(wake);
    const read = [{ kind: 'read_to_end', eval: scene.evaluation }];
    expect(core.step({ kind: 'changed' }, scene.view, env(BEGINS_BY))).toEqual(read);
    expect(core.step({ kind: 'changed' }, scene.view, env(BEGINS_BY))).toEqual([]);
    expect(core.step({ kind: 'caught_up' }, scene.view, env(BEGINS_BY))).toEqual([{ kind: 'finished' }]);
  });

  test('is not given up when that reading finds that it began', () => {
    const { scene, core } = projection();
    core.step({ kind: 'changed' }, scene.view, env(BEGINS_BY));
    scene.started();
    expect(core.step({ kind: 'caught_up' }, scene.view, env(BEGINS_BY))).toEqual([]);
    expect(core.state.phase).toBe('following');
  });
});
