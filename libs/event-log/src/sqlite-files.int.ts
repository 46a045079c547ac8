import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keys } from './fixtures.testkit.js';
import { openSqliteLog } from './sqlite.js';
import { count, failure, filled } from './sqlite-files.testkit.js';
import { APPLICATION_ID, migrate, MIGRATIONS, pragma } from './sqlite-schema.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'truss-log-'));
  file = join(folder, 'truss.db');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const MODES = ['drive', 'read'] as const;

describe.each(MODES)('opening to %s', (mode) => {
  test('a file that is no database is refused and left as it was', () => {
    const text = 'these are my notes, and no database\n'.repeat(200);
    writeFileSync(file, text);
    expect(failure(mode, file).code).toBe('log_not_ours');
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(readdirSync(folder)).toEqual(['truss.db']);
  });

  test.each(['DELETE', 'WAL'])("another program's database (%s) is refused and left as it was", (journal) => {
    const other = new DatabaseSync(file);
    other.exec(`PRAGMA journal_mode = ${journal}; CREATE TABLE theirs (x); PRAGMA user_version = 7`);
    other.close();
    const before = readFileSync(file);
    expect(failure(mode, file).code).toBe('log_not_ours');
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readdirSync(folder)).toEqual(['truss.db']);
  });

  test('a newer format is refused with both versions named', () => {
    const newer = new DatabaseSync(file);
    newer.exec(`CREATE TABLE t (x); PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 99`);
    newer.close();
    expect(failure(mode, file)).toMatchObject({
      code: 'log_newer',
      message: expect.stringMatching(new RegExp(`format 99.* up to ${MIGRATIONS.length}.*newer truss`)),
    });
    expect(readdirSync(folder)).toEqual(['truss.db']);
  });

  test('a directory, and a folder that is not there, are named in the message', () => {
    expect(failure(mode, folder)).toMatchObject({ code: 'log_unreadable', message: expect.stringContaining(folder) });
    expect(failure(mode, join(folder, 'no', 'truss.db'))).toMatchObject({
      code: 'log_unreadable',
      message: expect.stringContaining('does not exist'),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('a database that was cut short is refused', async () => {
    await filled(file);
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.subarray(0, 3_000));
    expect(['log_corrupt', 'log_not_ours']).toContain(failure(mode, file).code);
  });
});

test('reading makes nothing where there is no file', () => {
  expect(failure('read', file)).toMatchObject({ code: 'log_missing', message: expect.stringContaining('truss eval') });
  writeFileSync(file, '');
  expect(failure('read', file).code).toBe('log_missing');
  expect(readdirSync(folder)).toEqual(['truss.db']);
});

test('an empty file becomes a database', async () => {
  writeFileSync(file, '');
  await filled(file);
  expect(existsSync(file)).toBe(true);
});

test('migrations run in order, each once, all or none', async () => {
  await filled(file);
  const db = new DatabaseSync(file);
  const steps = [...MIGRATIONS, 'CREATE TABLE added (x)', 'ALTER TABLE added ADD COLUMN y'];
  expect(() => migrate(db, [...steps, 'no SQL'])).toThrow();
  expect(pragma(db, 'user_version')).toBe(MIGRATIONS.length);
  expect(migrate(db, steps)).toBe(2);
  expect(migrate(db, steps)).toBe(0);
  expect(pragma(db, 'user_version')).toBe(MIGRATIONS.length + 2);
  db.exec('INSERT INTO added (x, y) VALUES (1, 2)');
  db.close();
  expect(failure('drive', file).code).toBe('log_newer');
});

test('what was written is there when the file is opened again', async () => {
  const evaluation = await filled(file);
  const { log, topics, close } = openSqliteLog({ file, keys, mode: 'drive' });
  expect(await count(log.records(evaluation))).toBe(3);
  const first = await topics.publish('eval.child-run.commands', 'a', {});
  const second = await topics.publish('eval.child-run.commands', 'b', {});
  const consumer = await topics.consume('eval.child-run.commands', 'executors', { record: () => {} });
  await consumer.commit(second);
  await close();
  const again = openSqliteLog({ file, keys, mode: 'drive' });
  expect(await count(again.topics.list('eval.child-run.commands'))).toBe(1);
  const heard: number[] = [];
  await again.topics.consume('eval.child-run.commands', 'executors', {
    record: (record) => void heard.push(record.position),
  });
  await expect.poll(() => heard, { timeout: 5_000 }).toEqual([second]);
  expect(first).toBeLessThan(second);
  await again.close();
});

test('one name is one database: a link to it is refused while it is driven', async () => {
  const { close } = openSqliteLog({ file, keys, mode: 'drive' });
  const link = join(folder, 'link.db');
  execFileSync('ln', ['-s', file, link]);
  expect(failure('drive', link).code).toBe('log_busy');
  await close();
});
