import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EvalRunId } from '#lib/ledger';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runSource, type SourceProcess } from './children.testkit.js';
import { keys, startedEvaluation } from './fixtures.testkit.js';
import type { LogListener } from './port.js';
import { openSqliteLog } from './sqlite.js';

const PROGRAM = new URL('./driver-process.testkit.ts', import.meta.url);
const SILENT: LogListener = { entry: () => {} };
let folder: string;
let file: string;
let running: SourceProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'truss-log-'));
  file = join(folder, 'truss.db');
});
afterEach(async () => {
  for (const child of running) await child.kill();
  running = [];
  rmSync(folder, { recursive: true });
});

function start(role: 'drive' | 'inbox'): SourceProcess {
  const child = runSource(PROGRAM, [role, file]);
  running.push(child);
  return child;
}

test('every entry that a driver was told is confirmed outlives its SIGKILL', async () => {
  const driver = start('drive');
  const confirmed: string[] = [];
  while (confirmed.length < 40) confirmed.push((await driver.line()) ?? 'ended');
  await driver.kill();
  for (let line = await driver.line(); line !== null; line = await driver.line()) confirmed.push(line);
  const evaluation = confirmed[0]?.split(' ')[0] as EvalRunId;
  const { log, close } = openSqliteLog({ file, keys, mode: 'drive' });
  const found: string[] = [];
  const following = await log.follow(evaluation, { entry: (entry) => void found.push(`${entry.eval} ${entry.hash}`) });
  expect(found.slice(0, confirmed.length)).toEqual(confirmed);
  expect(following.live.children.size).toBe(1);
  await close();
});

test('one process drives at a time; another is refused while it lives and accepted after its SIGKILL', async () => {
  const driver = start('drive');
  await driver.line();
  const open = () => openSqliteLog({ file, keys, mode: 'drive' });
  expect(open).toThrow(expect.objectContaining({ code: 'log_busy', retryable: true }));
  expect(open).toThrow(/another truss process drives .*--db/);
  await driver.kill();
  const { log, close } = open();
  const { opening } = await startedEvaluation();
  expect(await log.append(opening)).toBe('confirmed');
  await close();
});

test('readers read and follow while another process drives', async () => {
  const driver = start('drive');
  const evaluation = (await driver.line())?.split(' ')[0] as EvalRunId;
  const { log, close } = openSqliteLog({ file, keys, mode: 'read' });
  let heard = 0;
  await log.follow(evaluation, { entry: () => void heard++ });
  const before = heard;
  await expect.poll(() => heard, { timeout: 10_000 }).toBeGreaterThan(before + 5);
  const { opening } = await startedEvaluation();
  await expect(log.append(opening)).rejects.toMatchObject({ code: 'log_read_only' });
  await close();
});

test('a driver hears of a request from another process within 200 ms of its commit', async () => {
  const { topics, close } = openSqliteLog({ file, keys, mode: 'drive' });
  let heardAt = 0;
  await topics.consume('eval.requested', 'intake', {
    record: () => {
      heardAt = performance.now();
    },
  });
  const child = start('inbox');
  expect(Number(await child.line())).toBeGreaterThan(0);
  const committedAt = performance.now();
  await expect.poll(() => heardAt, { interval: 5, timeout: 5_000 }).toBeGreaterThan(0);
  expect(heardAt - committedAt).toBeLessThan(200);
  expect(await child.ended).toEqual({ code: 0, signal: null });
  await close();
});

test('only the inbox takes what a process that does not drive publishes', async () => {
  const driving = openSqliteLog({ file, keys, mode: 'drive' });
  const reading = openSqliteLog({ file, keys, mode: 'read' });
  await expect(reading.topics.publish('eval.report', 'key', {})).rejects.toMatchObject({ code: 'log_read_only' });
  const consumer = await reading.topics.consume('eval.report', 'group', { record: () => {} });
  await expect(consumer.commit(1)).rejects.toMatchObject({ code: 'log_read_only' });
  await reading.log.follow((await startedEvaluation()).parent.evaluation, SILENT);
  await reading.close();
  await driving.close();
});
