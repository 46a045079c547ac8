import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isAlive, node, waitFor } from './child-run.testkit.js';
import { environmentOf } from './environment.js';
import { type Launch, runProgram } from './process.js';
import { Scratch } from './scratch.js';

async function launch(argv: string[], more: Partial<Launch> = {}): Promise<Launch & { pids: () => number[] }> {
  const cwd = await mkdtemp(join(tmpdir(), 'kit-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  await writeFile(join(cwd, 'pids'), '');
  const env = environmentOf({ base: cwd, workspace: cwd, home: cwd, tmp: cwd });
  const pids = () => readFileSync(join(cwd, 'pids'), 'utf8').split('\n').filter(Boolean).map(Number);
  return { argv, cwd, env, timeoutMs: null, stop: new AbortController().signal, pids, ...more };
}
const shell = (script: string): string[] => ['sh', '-c', script];

describe('a program', () => {
  test('gets its input, and its output, exit code and end come back', async () => {
    const end = await runProgram(await launch(shell('cat; echo oops >&2; exit 3'), { stdin: 'hello' }));
    expect(end).toMatchObject({
      kind: 'ended',
      exitCode: 3,
      signal: null,
      stopped: 'no',
      stdout: 'hello',
      stderr: 'oops\n',
    });
  });

  test('that never reads a long input ends all the same', async () => {
    const end = await runProgram(await launch(shell('exit 0'), { stdin: 'x'.repeat(5_000_000) }));
    expect(end).toMatchObject({ kind: 'ended', exitCode: 0 });
  });

  test('that is not there, or may not be run, is a value and no error', async () => {
    expect(await runProgram(await launch(['truss-no-such-program']))).toEqual({ kind: 'not_started', code: 'ENOENT' });
    expect(await runProgram(await launch(['/etc/passwd']))).toEqual({ kind: 'not_started', code: 'EACCES' });
    expect(await runProgram(await launch(['a\0b']))).toMatchObject({ kind: 'not_started' });
    expect(await runProgram(await launch([]))).toMatchObject({ kind: 'not_started' });
  });

  test('that ends by a signal says which', async () => {
    expect(await runProgram(await launch(shell('kill -USR1 $$')))).toMatchObject({ exitCode: null, signal: 'SIGUSR1' });
  });

  test('that ignores SIGTERM and hangs is killed at the timeout, its children with it', async () => {
    const given = await launch(shell('trap "" TERM; sleep 60 & echo $! >> pids; echo $$ >> pids; wait'), {
      timeoutMs: 300,
    });
    expect(await runProgram(given)).toMatchObject({ stopped: 'timeout', signal: 'SIGKILL' });
    expect(given.pids()).toHaveLength(2);
    expect(await waitFor(() => !given.pids().some(isAlive))).toBe(true);
  });

  test('is killed promptly on a stop, and is not started after one', async () => {
    const stop = new AbortController();
    const given = await launch(shell('echo $$ >> pids; sleep 60'), { stop: stop.signal });
    const end = runProgram(given);
    await waitFor(() => given.pids().length === 1);
    const begun = performance.now();
    stop.abort();
    expect(await end).toMatchObject({ stopped: 'stop' });
    expect(performance.now() - begun).toBeLessThan(1_000);
    expect(await runProgram(given)).toEqual({ kind: 'not_started', code: 'stopped' });
  });

  test('that leaves a daemon behind which holds its output open is not waited for, and the daemon dies', async () => {
    const given = await launch(shell('sleep 60 & echo $! >> pids; echo done'));
    const begun = performance.now();
    expect(await runProgram(given)).toMatchObject({ exitCode: 0, stdout: 'done\n' });
    expect(performance.now() - begun).toBeLessThan(2_000);
    expect(await waitFor(() => !given.pids().some(isAlive))).toBe(true);
  });

  test('that floods its output with 100 MB costs 64 KiB', async () => {
    const end = await runProgram(
      await launch(
        node(
          "import { writeSync } from 'node:fs'; const b = Buffer.alloc(1 << 20, 120); for (let i = 0; i < 100; i++) { let o = 0; while (o < b.length) { try { o += writeSync(1, b, o); } catch (e) { if (e.code !== 'EAGAIN') throw e; } } }",
        ),
      ),
    );
    if (end.kind !== 'ended') throw new Error(end.code);
    expect(end.exitCode).toBe(0);
    expect(end.stdout.length).toBeLessThan(66_000);
    expect(end.stdout).toContain(`[${100 * 1024 * 1024 - 65_536} bytes left out]`);
  });
});

test('a process that left its group is found by the folder it was given, and ended with it', async () => {
  const scratch = new Scratch();
  const place = await scratch.place();
  const pids = join(place.workspace, 'pids');
  const argv = node(
    `import { spawn } from 'node:child_process'; import { writeFileSync } from 'node:fs'; const c = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' }); c.unref(); writeFileSync('pids', String(c.pid));`,
  );
  const stop = new AbortController().signal;
  await runProgram({ argv, cwd: place.workspace, env: environmentOf(place), timeoutMs: null, stop });
  const pid = Number(readFileSync(pids, 'utf8'));
  expect(isAlive(pid)).toBe(true);
  await scratch.dispose();
  expect(await waitFor(() => !isAlive(pid))).toBe(true);
});
