import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Step } from '../../providers/src/scripted-endpoint.testkit.js';
import { drive } from './child-run.testkit.js';
import { asks, CANARY, everythingLeft, modelKit, type ModelKit, reply } from './model.testkit.js';

const ALL = ['list_files', 'read_file', 'write_file', 'run_command'];

async function outside(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'outside-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'secret.txt'), 'the secret of the machine');
  return folder;
}

async function toolResults(
  steps: Step[],
  workspace: Record<string, string> = { 'a.txt': 'a', 'd/b.txt': 'b' },
): Promise<[ModelKit, [boolean, string][]]> {
  const run = await modelKit([...steps, reply('Done.')], { tools: ALL, workspace });
  await drive(run);
  const results = run.drafts.flatMap((draft): [boolean, string][] => {
    if (draft.type !== 'tool_called') return [];
    return [[draft.body.ok, 'text' in draft.body.result ? draft.body.result.text : '']];
  });
  return [run, results];
}

test.each([
  '../secret.txt',
  'd/../../secret.txt',
  '/etc/passwd',
  '..',
  '',
  'a\0b',
  './../x',
  `${'x'.repeat(300)}`,
  '//etc/passwd',
])('the path %j is in no tool', async (path) => {
  const [run, results] = await toolResults([
    asks('read_file', { path }),
    asks('write_file', { path, text: 'x' }),
    asks('list_files', { folder: path === '' ? '..' : path }),
  ]);
  expect(results.map(([ok]) => ok)).toEqual([false, false, false]);
  expect(run.state.workspace).toBeNull();
});

test('a link that a command made is neither read, written through, nor listed into, wherever it leads', async () => {
  const folder = await outside();
  const [run, results] = await toolResults([
    asks('run_command', {
      command: `ln -s ${folder} out; ln -s ${folder}/secret.txt file; ln -s d in; ln -s a.txt same; ln -s ../.. d/up`,
    }),
    asks('read_file', { path: 'out/secret.txt' }),
    asks('read_file', { path: 'file' }),
    asks('read_file', { path: 'in/b.txt' }),
    asks('read_file', { path: 'same' }),
    asks('list_files', { folder: 'out' }),
    asks('write_file', { path: 'out/new.txt', text: 'x' }),
    asks('write_file', { path: 'same', text: 'x' }),
    asks('write_file', { path: 'in/new.txt', text: 'x' }),
    asks('list_files', {}),
  ]);
  expect(results.slice(1, 6).map(([ok]) => ok)).toEqual([false, false, false, false, false]);
  // What leads out is not there any more, so its name is free: a plain folder of the workspace.
  expect(results[6]).toEqual([true, '1 bytes written']);
  expect(results.slice(7, 9).map(([ok]) => ok)).toEqual([false, false]);
  expect(results[9]?.[1].split('\n')).toEqual([
    'a.txt (1 bytes)',
    'd/b.txt (1 bytes)',
    'in (link)',
    'out/new.txt (1 bytes)',
    'same (link)',
  ]);
  expect(await everythingLeft(run)).not.toContain('the secret of the machine');
});

test('a file is not written where a folder is, nor below a file', async () => {
  const [, results] = await toolResults([
    asks('write_file', { path: 'd', text: 'x' }),
    asks('write_file', { path: 'a.txt/x', text: 'x' }),
    asks('read_file', { path: 'd' }),
    asks('read_file', { path: 'a.txt/' }),
  ]);
  expect(results).toEqual([
    [false, 'error: it is a folder'],
    [false, 'error: a.txt is a file, no folder'],
    [false, 'error: it is a folder'],
    [true, 'a'],
  ]);
});

test('what is written back as it was is no change', async () => {
  const [run] = await toolResults([
    asks('write_file', { path: 'a.txt', text: 'new' }),
    asks('write_file', { path: 'a.txt', text: 'a' }),
  ]);
  expect(run.last('workspace_changed').files).toEqual([]);
});

test('a long file is read in parts, and one that is no text is not read', async () => {
  const lines = Array.from({ length: 5_000 }, (_, i) => `line ${i + 1} of the file`).join('\n');
  const [run, results] = await toolResults(
    [
      asks('read_file', { path: 'long' }),
      asks('read_file', { path: 'long', from_line: 4_999 }),
      asks('run_command', { command: "printf '\\377' > bin" }),
      asks('read_file', { path: 'bin' }),
    ],
    { long: lines },
  );
  expect(results[1]).toEqual([true, 'line 4999 of the file\nline 5000 of the file']);
  expect(results[3]).toEqual([false, 'error: it is not UTF-8 text']);
  expect(run.endpoint.asked[1]?.text).toMatch(/cut after \d+ lines; \d+ more characters/);
});

test('a command has an environment without keys, and a home and a temporary folder of its own', async () => {
  process.env['TEST_KEY'] = CANARY;
  onTestFinished(() => void delete process.env['TEST_KEY']);
  const [, results] = await toolResults([
    asks('run_command', { command: 'env | cut -d= -f1 | sort | tr "\\n" " "; ls -a "$HOME" | wc -l' }),
  ]);
  const names = (results[0]?.[1] ?? '').split(/\s+/).filter((word) => /^[A-Z_]{2,}$/.test(word));
  expect(names.filter((name) => !/^(LANG|LC_.*|TZ|PATH|HOME|TMPDIR|PWD|OLDPWD|SHLVL|_)$/.test(name))).toEqual([]);
});
