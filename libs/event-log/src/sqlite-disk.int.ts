import { createHook } from 'node:async_hooks';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { drafts, keys, startedEvaluation } from './fixtures.testkit.js';
import { LogError } from './port.js';
import { count } from './sqlite-files.testkit.js';
import { openSqliteLog } from './sqlite.js';
import { migrate } from './sqlite-schema.js';
import { sqliteStore } from './sqlite-store.js';
import { createStoreLog, type OpenLog } from './store-log.js';

let folder: string;
/** What the disk is asked for: each is answered by the test. */
let asked: PromiseWithResolvers<void>[];
let opened: OpenLog;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'truss-log-'));
  const file = join(folder, 'truss.db');
  const db = new DatabaseSync(file);
  migrate(db);
  db.exec('PRAGMA journal_mode = WAL');
  asked = [];
  const disk = {
    sync: () => {
      const answer = Promise.withResolvers<void>();
      asked.push(answer);
      return answer.promise;
    },
  };
  const store = sqliteStore({ file, db, writes: 'all', writer: () => db, disk, onClose: () => db.close() });
  opened = createStoreLog(store, keys);
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

async function asking(n: number): Promise<PromiseWithResolvers<void>> {
  while (asked.length < n) await setTimeout(1);
  return asked[n - 1] as PromiseWithResolvers<void>;
}

test('until the disk has it, nobody is told of an entry: not its writer, no follower, no reader', async () => {
  const { log, close } = opened;
  const { child, opening, runStarted } = await startedEvaluation();
  const heard: string[] = [];
  const following = await log.follow(child.evaluation, { entry: ({ type }) => void heard.push(type) });
  let answer: string | null = null;
  const appended = log.append(opening).then((said) => {
    answer = said;
  });
  const first = await asking(1);
  await following.caughtUp();
  await log.follow(child.evaluation, { entry: ({ type }) => void heard.push(type) });
  expect([heard, answer, await count(log.records(child.evaluation)), await log.endFor(child.evaluation)]).toEqual([
    [],
    null,
    0,
    0,
  ]);
  first.resolve();
  await appended;
  expect(answer).toBe('confirmed');
  expect(heard).toHaveLength(2 * opening.length);

  const next = log.append([runStarted]);
  await asking(2);
  expect(await count(log.records(child.evaluation))).toBe(opening.length);
  const closing = close();
  asked[1]?.resolve();
  await closing;
  expect(await next).toBe('confirmed');
});

test('what comes while the disk is waited for is one transaction more', async () => {
  const { log, close } = opened;
  const { opening, child, runStarted } = await startedEvaluation();
  const others = await Promise.all([startedEvaluation(), startedEvaluation(), startedEvaluation()]);
  const first = log.append(opening);
  const sync = await asking(1);
  const later = others.map((other) => log.append(other.opening));
  await setTimeout(20);
  expect(asked).toHaveLength(1);
  sync.resolve();
  (await asking(2)).resolve();
  expect(await Promise.all([first, ...later])).toEqual(Array.from({ length: 4 }, () => 'confirmed'));
  const last = log.append([runStarted]);
  (await asking(3)).resolve();
  expect(await last).toBe('confirmed');
  expect(asked).toHaveLength(3);
  expect(await count(log.records(child.evaluation))).toBe(opening.length + 1);
  await close();
});

test('after a disk that did not confirm, nothing more is written and nothing of it is shown', async () => {
  const { log, close } = opened;
  const { child, opening, runStarted } = await startedEvaluation();
  const failed = new LogError('log_full', 'the disk failed');
  const first = log.append(opening);
  const sync = await asking(1);
  const behind = (await startedEvaluation()).opening;
  const second = log.append(behind);
  await setTimeout(5);
  sync.reject(failed);
  await expect(first).rejects.toBe(failed);
  await expect(second).rejects.toBe(failed);
  await expect(log.append([runStarted])).rejects.toBe(failed);
  await expect(log.append([await child.next(drafts.note('after it'))])).rejects.toBe(failed);
  expect(await count(log.records(child.evaluation))).toBe(0);
  await close();
});

test('a log in a file asks its disk before it confirms, and once for a whole group', async () => {
  const { log, close } = openSqliteLog({ file: join(folder, 'driven.db'), keys, mode: 'drive' });
  const started = await Promise.all(Array.from({ length: 8 }, () => startedEvaluation()));
  let calls = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === 'FSREQCALLBACK') calls += 1;
    },
  }).enable();
  const answers = await Promise.all(started.map(({ opening }) => log.append(opening)));
  hook.disable();
  expect(new Set(answers)).toEqual(new Set(['confirmed']));
  expect(calls).toBeGreaterThan(0);
  expect(calls).toBeLessThan(started.length);
  await close();
});
