import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { AGENT, agentContract, BIN, fixedContract, idIn, LEARNING, workplace } from './cli.testkit.js';

function shell(line: string, cwd: string): Promise<{ code: number | null; stderr: string }> {
  return new Promise((resolve) => {
    const child = spawn('bash', ['-o', 'pipefail', '-c', line], { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('close', (code) => resolve({ code, stderr }));
  });
}

function slow(steps = 6): ReturnType<typeof workplace> & { readonly args: readonly string[] } {
  const place = workplace();
  place.write('agent.mjs', AGENT);
  place.write('c.toml', agentContract(steps, 80, LEARNING));
  return { ...place, args: ['eval', '--contract', 'c.toml', '--repeats', '3', '--db', place.db] };
}

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s stops with exit 6 and says how to resume; resumed, nothing is lost or done twice',
  async (signal) => {
    const { start, run, args, db } = slow();
    const stopped = start(args);
    await stopped.shows('[2/6]');
    stopped.process.kill(signal);
    const { code, stdout, stderr } = await stopped.ended;
    expect(code).toBe(6);
    expect(stdout).toBe('');
    const id = idIn(stderr);
    expect(stderr).toContain(`truss eval --resume ${id} --db ${db}`);
    expect((await run(['list', '--db', db])).stdout).toMatch(/stepper +open +2\/6/);

    const resumed = await run(['eval', '--resume', id, '--db', db]);
    expect(resumed.code).toBe(0);
    expect(resumed.stderr).toContain('2 of them done');
    expect(resumed.stderr).not.toContain('[2/6]');
    expect(JSON.parse(resumed.stdout)).toMatchObject({ eval_run_id: id, runs: 3 });
    expect((await run(['verify', id, '--db', db])).code).toBe(0);
    const again = await run(['eval', '--resume', id, '--db', db]);
    expect(again.stdout).toBe(resumed.stdout);
  },
);

test('after SIGKILL the evaluation resumes from its ledger', async () => {
  const { start, run, args, db } = slow();
  const killed = start(args);
  await killed.shows('[1/6]');
  killed.process.kill('SIGKILL');
  const { stderr } = await killed.ended;
  const resumed = await run(['eval', '--resume', idIn(stderr), '--db', db]);
  expect(resumed.code).toBe(0);
  expect(JSON.parse(resumed.stdout)).toMatchObject({ eval_run_id: idIn(stderr), runs: 3 });
  expect((await run(['verify', idIn(stderr), '--db', db])).code).toBe(0);
});

test('one process drives a database: the second is told so, and readers are free', async () => {
  const { start, run, args, db } = slow(60);
  const driving = start(args);
  await driving.shows('seed');
  const second = await run(args);
  expect(second.code).toBe(2);
  expect(second.stderr).toMatch(/another truss process drives .* --db/);
  expect((await run(['list', '--db', db])).stdout).toMatch(/stepper +running +\d\/6/);
  driving.process.kill('SIGINT');
  await driving.ended;
});

test('another process cancels: the one that drives exits 6 with the reason, and the ledger is ended', async () => {
  const { start, run, args, db } = slow(60);
  const driving = start(args);
  await driving.shows('seed');
  const [{ eval_run_id: id }] = (await run(['list', '--json', '--db', db])).stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const cancelled = await run(['cancel', id, '--reason', 'wrong contract', '--db', db]);
  expect(cancelled.stdout).toContain(`${id} is cancelled`);
  expect(cancelled.code).toBe(0);
  const { code, stderr } = await driving.ended;
  expect(code).toBe(6);
  expect(stderr).toMatch(/was cancelled after \d of 6 runs: wrong contract/);
  expect((await run(['verify', id, '--db', db])).stdout).toMatch(/^ended /);
});

test('an interrupted evaluation is cancelled without running anything', async () => {
  const { start, run, args, db } = slow();
  const stopped = start(args);
  await stopped.shows('[1/6]');
  stopped.process.kill('SIGINT');
  const id = idIn((await stopped.ended).stderr);
  const cancelled = await run(['cancel', id, '--db', db]);
  expect(cancelled.code).toBe(0);
  const ledger = await run(['ledger', id, '--db', db]);
  expect(ledger.stdout).toMatch(/eval_closed +coordinator +cancelled, \d anchors?: cancelled by hand/);
  const again = await run(['cancel', id, '--db', db]);
  expect(again.code).toBe(2);
  expect(again.stderr).toContain('was cancelled before');
});

test('a second signal ends the process at once, and what was confirmed is still there', async () => {
  const { start, run, args, db } = slow(60);
  const driving = start(args);
  await driving.shows('seed');
  driving.process.kill('SIGINT');
  driving.process.kill('SIGTERM');
  const { code, stderr } = await driving.ended;
  expect(code).toBe(6);
  expect((await run(['verify', idIn(stderr), '--db', db])).stdout).toMatch(/^open /);
});

test('a full disk stops the evaluation with exit 6; with space again it resumes to the end', async () => {
  const { db, run, write, folder } = workplace();
  write('c.toml', fixedContract());
  // The limit on the size of a file fails a write as a full disk does.
  const line = `ulimit -f 300; exec "${process.execPath}" "${BIN}" eval --contract c.toml --repeats 40 --db truss.db`;
  const { code, stderr } = await shell(line, folder);
  expect(stderr).toMatch(/stopped: .*truss\.db: the disk is full or failing.*after \d+ of 80 runs/);
  expect(code).toBe(6);
  const resumed = await run(['eval', '--resume', idIn(stderr), '--db', db]);
  expect(resumed.code).toBe(0);
  expect((await run(['verify', idIn(stderr), '--db', db])).code).toBe(0);
});

// A small disk needs a mount, and a mount needs rights that a test run may not have.
const MAY_MOUNT =
  spawnSync('sh', ['-c', 'd=$(mktemp -d) && mount -t tmpfs tmpfs "$d" && umount "$d"; e=$?; rmdir "$d"; exit $e'])
    .status === 0;

test.skipIf(!MAY_MOUNT)(
  'a full temporary folder stops the evaluation with exit 6; with space again it resumes to the end',
  async () => {
    const { db, run, write, folder } = workplace();
    const small = join(folder, 'small');
    mkdirSync(small);
    mkdirSync(join(folder, 'ws'));
    write('ws/large.bin', 'x'.repeat(3 * 1024 * 1024));
    write('agent.mjs', AGENT);
    write('c.toml', agentContract(1, 0, '[workspace]\npath = "ws"\n'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]);
    onTestFinished(() => void execFileSync('umount', ['-l', small]));
    const { code, stderr } = await run(['eval', '--contract', 'c.toml', '--repeats', '1', '--db', db], {
      TMPDIR: small,
    });
    expect(stderr).toMatch(/stopped: no space is left in the temporary folder.*ENOSPC.*0 of 2 runs/);
    expect(stderr).toContain(`truss eval --resume ${idIn(stderr)}`);
    expect(code).toBe(6);
    expect((await run(['eval', '--resume', idIn(stderr), '--db', db])).code).toBe(0);
  },
);

test('where progress cannot be shown, the evaluation is done all the same, and its exit code says how', async () => {
  const { db, write, run, folder } = workplace();
  write('agent.mjs', AGENT);
  write('c.toml', fixedContract().replace('equals = "spam"', 'equals = "ham"'));
  const line = `"${process.execPath}" "${BIN}" eval --contract c.toml --repeats 1 --db truss.db`;
  expect((await shell(`${line} > report.json 2> /dev/full`, folder)).code).toBe(0);
  const report = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8'));
  expect((await run(['verify', report.eval_run_id, '--db', db])).code).toBe(0);
  expect((await shell(`${line} --gate --progress json 2> /dev/full`, folder)).code).toBe(
    report.verdict === 'fail' ? 3 : 0,
  );
});

test('a flipped bit in any entry makes --verify name its ledger and seq, and exit 4', async () => {
  const { db, run, write } = workplace();
  write('c.toml', fixedContract());
  const id = JSON.parse((await run(['eval', '--contract', 'c.toml', '--repeats', '1', '--db', db])).stdout).eval_run_id;
  const file = new DatabaseSync(db);
  const entries = file
    .prepare('SELECT position, payload FROM entries ORDER BY position')
    .all()
    .map((row) => ({ position: Number(row['position']), payload: row['payload'] as Uint8Array }));
  const write1 = file.prepare('UPDATE entries SET payload = ? WHERE position = ?');
  expect(entries.length).toBeGreaterThan(15);
  for (const { position, payload } of everyFourth(entries)) {
    const { ledger, seq } = JSON.parse(new TextDecoder().decode(payload));
    const flipped = payload.slice();
    flipped[20] = (flipped[20] ?? 0) ^ 1;
    write1.run(flipped, position);
    const { code, stdout } = await run(['--db', db, '--verify', id]);
    expect(stdout).toContain(`${ledger}#${seq}`);
    expect(code).toBe(4);
    write1.run(payload, position);
  }
  file.close();
  expect((await run(['--db', db, '--verify', id])).code).toBe(0);
});

// The first, the last and some between; the library's own tests flip every bit.
function everyFourth<T>(items: readonly T[]): T[] {
  return items.filter((_, at) => at % 4 === 0 || at === items.length - 1);
}

test('a request id names one evaluation: asked again it is answered by its report, with other settings it is refused', async () => {
  const { db, run, write } = workplace();
  write('c.toml', fixedContract());
  const args = ['eval', '--contract', 'c.toml', '--request-id', 'nightly-1', '--db', db];
  const first = await run([...args, '--repeats', '1']);
  const again = await run([...args, '--repeats', '1']);
  expect(again.stdout).toBe(first.stdout);
  const other = await run([...args, '--repeats', '2']);
  expect(other.code).toBe(2);
  expect(other.stderr).toContain('the request id nightly-1 was used');
});

test('a reader that closes the pipe early gets no stack trace', async () => {
  const { db, run, write, folder } = workplace();
  write('c.toml', fixedContract());
  const id = JSON.parse((await run(['eval', '--contract', 'c.toml', '--repeats', '3', '--db', db])).stdout).eval_run_id;
  const truss = `"${process.execPath}" "${BIN}"`;
  expect(await shell(`${truss} ledger ${id} --json --db ${db} | head -1`, folder)).toEqual({ code: 0, stderr: '' });
  const evaluated = await shell(`${truss} eval --contract c.toml --repeats 1 --db ${db} | true`, folder);
  expect(evaluated.code).toBe(0);
  expect(evaluated.stderr).not.toMatch(/EPIPE|\n {4}at /);
});
