import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Action } from './actions.js';
import { isAlive, waitFor } from './child-run.testkit.js';
import { decideRun } from './decide.js';
import { asks, modelKit, type ModelKit, reply } from './model.testkit.js';

/** Goes on until the next action is of this kind. */
async function until(run: ModelKit, kind: Action['kind']): Promise<Action> {
  for (;;) {
    const step = decideRun(run.state, run.run, false);
    if (step.kind === 'sealed') throw new Error(`the run has no ${kind}`);
    if (step.kind === 'record') await run.record(...step.drafts);
    else if (step.action.kind === kind) return step.action;
    else await run.perform(step.action);
  }
}

test('an abort ends a call at once, and nothing is recorded of it', async () => {
  const run = await modelKit([{ kind: 'hang' }]);
  const call = await until(run, 'call');
  const abort = new AbortController();
  const result = run.actions.perform(call, run.state, () => {}, abort.signal);
  expect(await waitFor(() => run.endpoint.load.now === 1)).toBe(true);
  abort.abort();
  expect(await result).toEqual([]);
  expect(await waitFor(() => run.endpoint.load.now === 0)).toBe(true);
});

test('an abort ends the wait for another attempt at once', async () => {
  const run = await modelKit([{ kind: 'raw', status: 429, headers: { 'retry-after': '15' } }, reply('spam')]);
  const call = await until(run, 'call');
  const abort = new AbortController();
  const began = performance.now();
  const result = run.actions.perform(call, run.state, () => {}, abort.signal);
  expect(await waitFor(() => run.endpoint.asked.length === 1)).toBe(true);
  abort.abort();
  expect(await result).toEqual([]);
  expect(performance.now() - began).toBeLessThan(10_000);
});

test('an abort ends a command with all that it started, and what it changed is gone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'outside-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const command = `echo x > made; sleep 60 & echo $! $$ > ${folder}/new; mv ${folder}/new ${folder}/pids; sleep 60`;
  const run = await modelKit([asks('run_command', { command })], { tools: ['run_command'] });
  const tool = await until(run, 'tool');
  const abort = new AbortController();
  const result = run.actions.perform(tool, run.state, () => {}, abort.signal);
  let pids: number[] = [];
  for (let tries = 0; tries < 500 && pids.length === 0; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    pids = (await readFile(join(folder, 'pids'), 'utf8').catch(() => '')).split(' ').map(Number).filter(Boolean);
  }
  expect(pids).toHaveLength(2);
  abort.abort();
  expect(await result).toEqual([]);
  expect(await waitFor(() => !pids.some(isAlive))).toBe(true);
  expect(run.state.workspace).toBeNull();
});
