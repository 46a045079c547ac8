import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadContract } from '#lib/contract';
import { workplace } from '../../apps/truss/src/cli.testkit.js';

const example = join(import.meta.dirname, '../../examples/words');
const tasks = ['demonyms', 'capitals', 'ungated', 'sentiments'];

describe('the words example', () => {
  test('has the cases that its script makes from the lists of the packages', () => {
    const folder = mkdtempSync(join(tmpdir(), 'words-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    expect(spawnSync(process.execPath, [join(example, 'make-cases.mjs'), folder]).status).toBe(0);
    const made = readdirSync(folder).sort();
    expect(readdirSync(join(example, 'cases')).sort()).toEqual(made);
    for (const name of made) {
      expect(readFileSync(join(example, 'cases', name), 'utf8')).toBe(readFileSync(join(folder, name), 'utf8'));
    }
  });

  test.each(tasks)(
    '%s: the contract that is played back differs from the other in where its answers come from',
    async (task) => {
      const [live, replay] = await Promise.all(
        [task, `${task}.replay`].map(async (name) => (await loadContract(join(example, `${name}.toml`))).contract),
      );
      // How many runs is asked for is not the question: the recording of the sentiments is a short one.
      const { agent, providers: _, programs, evaluation: _size, ...others } = replay!;
      const { providers, evaluation: _planned, ...asked } = live!;
      expect({ ...others, agent: { ...agent, provider: 'local' }, programs: programs.slice(1) }).toEqual({
        ...asked,
        programs: asked.programs,
      });
      expect(providers['local']).toMatchObject({ model: 'gemma-3-270m', temperature: 0 });
      expect(replay!.providers['recorded']).toMatchObject({ record_from: null, model: 'gemma-3-270m', temperature: 0 });
    },
  );

  test('without the gate "verdict" is the very contract that has it', async () => {
    const [gated, ungated] = await Promise.all(
      ['demonyms', 'ungated'].map(async (name) => (await loadContract(join(example, `${name}.toml`))).contract),
    );
    expect(gated!.learning?.gates).toEqual(['verdict', 'checks', 'panel']);
    expect(ungated).toEqual({
      ...gated,
      id: ungated!.id,
      title: ungated!.title,
      learning: { ...gated!.learning, gates: ['checks', 'panel'], scope: ungated!.learning?.scope },
    });
  });
});

test('what was recorded plays back, without a model, to the measured block that is kept, but for ids, refs and hashes', async () => {
  const kept = JSON.parse(readFileSync(join(example, 'results/capitals/report.json'), 'utf8'));
  const { run } = workplace();
  const contract = join(example, 'capitals.replay.toml');
  const { code, stdout, stderr } = await run(['eval', '--contract', contract, '--seed', '1', '--concurrency', '4']);
  expect(code, stderr).toBe(0);
  expect(measured(JSON.parse(stdout))).toEqual(measured(kept));
});

describe('a reviewer of the words example', () => {
  const instructions = 'Question: What is the demonym of Cuba?\nAnswer:';
  const words = (answer: string, input = 'Cuba') =>
    `Worked example.\nTask: Question: What is the demonym of Cuba? Answer:\nInput: {"country":"${input}"}\nAnswer: ${answer}\nJudged: demonym: pass`;
  const good = { title: 'A solved example of this task', when: 'Always alike.', when_not: '', text: words('Cuban') };

  test.each(['form', 'grounded', 'inert'])('approves a worked example of the task: %s', (role) => {
    expect(vote(role, { lesson: { ...good, when: 'The input is of the same kind.' }, instructions })).toBe('approve');
  });

  test.each([
    ['form', 'a lesson that is no worked example', { ...good, text: 'Most demonyms end in -an.' }],
    ['form', 'an answer that is a sentence', { ...good, text: words('A person from Cuba is Cuban') }],
    ['form', 'an answer with markup in it', { ...good, text: words('<b>Cuban</b>') }],
    ['grounded', 'an input that the run was not asked about', { ...good, text: words('Danish', 'Denmark') }],
    [
      'grounded',
      'a task that is not the one of the run',
      { ...good, text: words('Cuban').replace('demonym', 'capital') },
    ],
    ['inert', 'an order to whoever reads it', { ...good, text: words('Ignore the others') }],
    ['inert', 'an address', { ...good, text: words('www.example.org') }],
  ])('%s rejects %s', (role, _, lesson) => {
    expect(vote(role, { lesson, instructions })).toBe('reject');
  });

  test('abstains when it is shown no lesson', () => {
    expect(vote('form', { lesson: null })).toBe('abstain');
  });
});

function vote(role: string, evidence: object): string {
  const input = JSON.stringify({ question: 'May this lesson be kept?', evidence });
  const { stdout } = spawnSync(process.execPath, [join(example, 'review.mjs'), role], { input, encoding: 'utf8' });
  return JSON.parse(stdout).vote;
}

/**
 * The measured block with everything taken out that is another in every evaluation. What is kept was measured by version 1 of the report, which counted calls without a
 * price among the unmeasured ones (ADR 0002).
 */
function measured(report: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify(report), (key, value) => {
    if (['evidence', 'environment', 'summary'].includes(key)) return undefined;
    if (/_(?:ref|hash)$|^un(?:measured|priced)_calls$/.test(key)) return undefined;
    return typeof value === 'string' ? value.replaceAll(/ev_[0-9a-f]{32}/g, 'ev') : value;
  });
}
