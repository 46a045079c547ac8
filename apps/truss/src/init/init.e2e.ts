import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { reportSchema } from '#lib/evaluation';
import { scriptedEndpoint, type Step } from '../../../../libs/providers/src/scripted-endpoint.testkit.js';
import { workplace } from '../cli.testkit.js';

/** Speaks as the command line that agent.mjs starts: reads a prompt, does what it asks, prints one JSON object. */
const FAKE_CLI = `#!/usr/bin/env node
import { readFileSync, writeFileSync } from 'node:fs';
const prompt = readFileSync(0, 'utf8');
const rows = readFileSync(/data\\/\\w+\\.csv/.exec(prompt)[0], 'utf8').trim().split('\\n').slice(1);
writeFileSync('dates.txt', rows.map((row) => row.replace(/^(..)\\/(..)\\/(..).*$/, '20$3-$2-$1\\n')).join(''));
const cited = /"id":"(\\w+)"/.exec(prompt)?.[1];
const result = cited ? 'Done.\\nCITED: ' + cited
  : 'Done.\\nLESSON: {"title": "Days first", "when": "Dates are to be read.", "text": "The day stands first in them."}';
const usage = { input_tokens: 100, cache_read_input_tokens: 20, output_tokens: 7 };
console.log(JSON.stringify({ type: 'result', result, num_turns: 3, total_cost_usd: 0.002, usage }));
`;

function edit(file: string, from: string | RegExp, to: string): void {
  const text = readFileSync(file, 'utf8');
  expect(text).toMatch(from);
  writeFileSync(file, text.replace(from, to));
}

describe('truss init', () => {
  test('writes a program that learns, runs it once, and overwrites nothing', async () => {
    const { folder, run, files } = workplace();
    const begun = await run(['init', 'mine']);
    expect(begun).toMatchObject({ code: 0, stderr: '' });
    expect(begun.stdout).toContain('one pair of runs: learning_on pass, learning_off pass');
    expect(begun.stdout).toContain(`truss eval --contract ${join('mine', 'contract.toml')}`);
    expect(files()).toEqual(['mine']);

    writeFileSync(join(folder, 'mine', 'agent.mjs'), '// my own');
    const again = await run(['init', 'mine']);
    expect(again).toMatchObject({ code: 2, stdout: '' });
    expect(again.stderr).toMatch(/^error: mine\/contract\.toml is there already, and nothing is overwritten: .+\n$/);
    expect(readFileSync(join(folder, 'mine', 'agent.mjs'), 'utf8')).toBe('// my own');
  });

  test('of a program leads to a report in which lessons save steps', async () => {
    const { run } = workplace();
    await run(['init']);
    const { code, stdout } = await run(['eval', '--contract', 'contract.toml', '--replicates', '3', '--seed', '1']);
    expect(code).toBe(0);
    const report = reportSchema.parse(JSON.parse(stdout));
    expect(report.arms.map(({ counts }) => counts.pass)).toEqual([12, 12]);
    expect(report.delta.steps).toBeLessThan(0);
  });

  test.each([
    ['a file in the place of the folder', ['init', 'taken'], /taken is no folder/],
    ['a folder that cannot be', ['init', 'taken/below'], /cannot write to taken\/below \(ENOTDIR\)/],
    ['a kind that is none', ['init', '--kind', 'robot'], /Expected one of: command, endpoint, coding-agent/],
  ])('refuses %s with exit 2', async (_, args, message) => {
    const { run, write, files } = workplace();
    write('taken', '');
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
    expect(files()).toEqual(['taken']);
  });
});

describe('the start for a coding agent', () => {
  test('tells what its command line spent, learned and used', async () => {
    const { folder, run } = workplace();
    expect((await run(['init', '--kind', 'coding-agent'])).code).toBe(0);
    // The files of whoever runs this test are none of its business.
    edit(join(folder, 'agent.mjs'), /^const LOGIN = .*$/m, 'const LOGIN = [];');
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'package.json'), '{"type": "module"}');
    writeFileSync(join(bin, 'claude'), FAKE_CLI);
    chmodSync(join(bin, 'claude'), 0o755);
    const PATH = `${bin}${delimiter}${process.env['PATH'] ?? ''}`;
    const { code, stdout } = await run(['eval', '--contract', 'contract.toml', '--repeats', '2'], { PATH });
    expect(code).toBe(0);
    const report = reportSchema.parse(JSON.parse(stdout));
    const usage = {
      cost_usd: 0.004,
      steps: 6,
      input_tokens: 240,
      output_tokens: 14,
      unmeasured_calls: 0,
      unpriced_calls: 0,
    };
    expect(report.arms.map((arm) => [arm.counts.pass, arm.usage])).toEqual([
      [2, usage],
      [2, usage],
    ]);
    const ledger = await run(['ledger', report.eval_run_id, '--json']);
    expect(ledger.stdout).toContain('"cited"');
  });

  test('counts what it cannot know as unmeasured, not as nothing, when there is no such command line', async () => {
    const { folder, run } = workplace();
    await run(['init', '--kind', 'coding-agent']);
    edit(join(folder, 'agent.mjs'), /^const LOGIN = .*$/m, 'const LOGIN = [];');
    edit(join(folder, 'agent.mjs'), "'claude'", "'no-such-command-line'");
    const { code, stdout } = await run(['eval', '--contract', 'contract.toml', '--repeats', '1']);
    expect(code).toBe(0);
    const report = reportSchema.parse(JSON.parse(stdout));
    expect(report.arms.map(({ counts, usage }) => [counts.fail, usage.unmeasured_calls])).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });
});

describe('the start for an endpoint', () => {
  test('runs a model with tools, whose lessons models write and judge', async () => {
    const { folder, run } = workplace();
    expect((await run(['init', '--kind', 'endpoint'])).code).toBe(0);
    const endpoint = await scriptedEndpoint(({ body, text }): Step => {
      if (text.includes('under_review')) return { kind: 'reply', text: '{"vote": "approve", "reason": "it helps"}' };
      if (text.includes('<run>')) {
        const lesson = {
          title: 'Days first',
          when: 'Dates are to be read.',
          when_not: '',
          text: 'The day stands first.',
        };
        return { kind: 'reply', text: JSON.stringify({ lessons: [lesson] }) };
      }
      if (body.messages.some(({ role }) => role === 'tool')) return { kind: 'reply', text: 'Done.' };
      const file = /data\/\w+\.csv/.exec(text)?.[0] ?? '';
      const rows = readFileSync(join(folder, 'workspace', file), 'utf8')
        .trim()
        .split('\n')
        .slice(1);
      const dates = rows.map((row) => row.replace(/^(..)\/(..)\/(..).*$/, '20$3-$2-$1\n'));
      const call = { name: 'write_file', arguments: { path: 'dates.txt', text: dates.join('') } };
      return { kind: 'reply', tool_calls: [call] };
    });
    onTestFinished(endpoint.close);
    edit(join(folder, 'contract.toml'), 'http://127.0.0.1:8089/v1', endpoint.url);
    const { code, stdout, stderr } = await run(['eval', '--contract', 'contract.toml', '--repeats', '2']);
    expect(code, stderr).toBe(0);
    const report = reportSchema.parse(JSON.parse(stdout));
    expect(report.arms.map(({ counts, usage }) => [counts.pass, usage.steps])).toEqual([
      [2, 4],
      [2, 4],
    ]);
    expect(stderr).toContain('1 lesson promoted');
    expect(stderr).toContain('1 lesson recalled');
  });
});
