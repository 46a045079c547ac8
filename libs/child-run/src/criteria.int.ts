import { describe, expect, test } from 'vitest';
import type { Contract, Criterion } from '#lib/contract';
import { isAlive, kit, node, waitFor } from './child-run.testkit.js';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const command = (run: string[], timeout_ms = 9_000): Criterion => ({ id: 'it', kind: 'command', run, timeout_ms });

async function judged(criterion: Criterion, agent?: string[], workspace: Record<string, string> = {}) {
  const contract: Partial<Contract> = { criteria: [criterion] };
  if (agent !== undefined) contract.agent = { kind: 'command', command: agent };
  const run = await kit({ contract, workspace });
  await run.perform({ kind: 'agent' });
  await run.perform({ kind: 'check', criterion: criterion.id });
  const { result, reason, output } = run.last('criterion_checked');
  return { result, reason, output, run };
}

describe('a command criterion', () => {
  test.each([
    [0, 'pass'],
    [1, 'fail'],
    [2, 'unverifiable'],
    [127, 'unverifiable'],
  ] as const)('that exits %i is %s', async (code, result) => {
    expect(await judged(command(['sh', '-c', `echo seen; exit ${code}`]))).toMatchObject({
      result,
      reason: `exit code ${code}`,
      output: { text: 'seen\n' },
    });
  });

  test('that is killed, hangs, or does not exist is unverifiable, and says why', async () => {
    expect(await judged(command(['sh', '-c', 'kill -9 $$']))).toMatchObject({
      result: 'unverifiable',
      reason: 'ended by SIGKILL',
    });
    expect(await judged(command(['sleep', '60'], 200))).toMatchObject({
      result: 'unverifiable',
      reason: 'it did not end within 200 ms',
    });
    expect(await judged(command(['truss-no-such-test']))).toMatchObject({
      result: 'unverifiable',
      reason: 'the command could not be started (ENOENT)',
    });
  });

  test('shows its output without the folders of this machine', async () => {
    const { output } = await judged(command(node('console.log(process.cwd(), process.env.HOME)')));
    expect(output).toEqual({ text: '<workspace> <run>/home\n' });
  });

  test('does not see what another criterion, or the code under test, wrote or changed', async () => {
    const run = await kit({
      workspace: { 'test.txt': 'the test' },
      contract: {
        workspace: { digest: null, files: 0, bytes: 0, protected: ['test.txt'] },
        criteria: [
          {
            id: 'first',
            kind: 'command',
            run: ['sh', '-c', 'echo hacked > test.txt; echo hacked > answer.txt'],
            timeout_ms: 9_000,
          },
          { id: 'second', kind: 'command', run: ['sh', '-c', 'cat test.txt answer.txt'], timeout_ms: 9_000 },
        ],
      },
    });
    await run.perform({ kind: 'agent' });
    await run.perform({ kind: 'check', criterion: 'first' });
    await run.perform({ kind: 'check', criterion: 'second' });
    expect(run.last('criterion_checked').output).toEqual({ text: 'the testspam' });
  });

  test('whose workspace is not at hand is unverifiable, never a fail', async () => {
    const run = await kit({ workspace: { 'a.txt': '1' }, contract: { criteria: [command(['false'])] } });
    await run.perform({ kind: 'agent' });
    await writeFile(join(run.workspace, 'a.txt'), 'changed');
    await run.perform({ kind: 'check', criterion: 'it' });
    expect(run.last('criterion_checked')).toMatchObject({
      result: 'unverifiable',
      reason: expect.stringContaining('pins') as string,
    });
  });

  test('is ended by an abort', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'outside-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const run = await kit({ contract: { criteria: [command(['sh', '-c', `echo $$ > ${folder}/pid; sleep 60`])] } });
    await run.perform({ kind: 'agent' });
    const abort = new AbortController();
    const result = run.perform({ kind: 'check', criterion: 'it' }, abort.signal);
    const pid = () => {
      try {
        return Number(readFileSync(join(folder, 'pid'), 'utf8'));
      } catch {
        return 0;
      }
    };
    expect(await waitFor(() => pid() > 0)).toBe(true);
    abort.abort();
    expect(await result).toEqual([]);
    expect(isAlive(pid())).toBe(false);
  });
});

describe('a match criterion', () => {
  const equals = (file: string, text: string): Criterion => ({ id: 'it', kind: 'match', file, equals: text });

  test('reads what the agent wrote, what it left as it was, and what is not there', async () => {
    expect(await judged(equals('answer.txt', ' spam\n'))).toMatchObject({ result: 'pass' });
    expect(await judged(equals('a.txt', 'kept'), ['true'], { 'a.txt': 'kept' })).toMatchObject({ result: 'pass' });
    expect(await judged(equals('none.txt', 'x'))).toMatchObject({ result: 'fail', reason: 'there is no such file' });
    expect(await judged(equals('a.txt', 'kept'), ['rm', 'a.txt'], { 'a.txt': 'kept' })).toMatchObject({
      result: 'fail',
    });
  });

  test('says why it failed without saying what was expected', async () => {
    const { reason, output } = await judged(equals('answer.txt', 'secret-7'));
    expect(JSON.stringify({ reason, output })).not.toContain('secret-7');
  });

  test('fails on a link, on what is not UTF-8, on more than 1 MiB', async () => {
    expect(await judged(equals('l', 'x'), ['ln', '-s', 'a.txt', 'l'], { 'a.txt': 'x' })).toMatchObject({
      result: 'fail',
      reason: 'it is no regular file',
    });
    expect(await judged(equals('b', 'x'), ['sh', '-c', "printf '\\377' > b"])).toMatchObject({
      reason: 'the file is not UTF-8 text',
    });
    expect(await judged(equals('b', 'x'), ['sh', '-c', 'head -c 1048577 /dev/zero > b'])).toMatchObject({
      result: 'fail',
      reason: 'the file has more than 1048576 bytes',
    });
  });

  test('matches patterns and schemas', async () => {
    const write = (text: string) => ['sh', '-c', `printf '%s' '${text}' > answer.txt`];
    const regex: Criterion = { id: 'it', kind: 'match', file: 'answer.txt', regex: '^s.am$' };
    const schema: Criterion = {
      id: 'it',
      kind: 'match',
      file: 'answer.txt',
      json_schema: { type: 'object', required: ['label'] },
    };
    expect((await judged(regex, write('spam'))).result).toBe('pass');
    expect((await judged(regex, write('ham'))).result).toBe('fail');
    expect((await judged(schema, write('{"label":1}'))).result).toBe('pass');
    expect((await judged(schema, write('{}'))).result).toBe('fail');
    expect(await judged(schema, write('{'))).toMatchObject({ result: 'fail', reason: 'the text is not JSON' });
  });

  test('whose pattern would take for ever is given up', async () => {
    const regex: Criterion = { id: 'it', kind: 'match', file: 'answer.txt', regex: '^(a|a)*$' };
    const begun = performance.now();
    expect(await judged(regex, ['sh', '-c', `printf '%s' ${'a'.repeat(60)}! > answer.txt`])).toMatchObject({
      result: 'unverifiable',
      reason: 'matching took longer than 1000 ms',
    });
    expect(performance.now() - begun).toBeLessThan(4_000);
  });
});
