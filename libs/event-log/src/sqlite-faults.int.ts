import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { MAX_INLINE_BODY } from '#lib/ledger';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { drafts, keys, startedEvaluation } from './fixtures.testkit.js';
import { openSqliteLog } from './sqlite.js';
import { count, failure, filled } from './sqlite-files.testkit.js';

// A small disk needs a mount, and a mount needs rights that a test run may not have.
const MAY_MOUNT =
  spawnSync('sh', ['-c', 'd=$(mktemp -d) && mount -t tmpfs tmpfs "$d" && umount "$d"; e=$?; rmdir "$d"; exit $e'])
    .status === 0;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'truss-log-'));
  file = join(folder, 'truss.db');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

test('damage inside the database is log_corrupt, not a crash and not an entry', async () => {
  const evaluation = await filled(file);
  const bytes = readFileSync(file);
  writeFileSync(file, Buffer.concat([bytes.subarray(0, 4096), Buffer.alloc(bytes.length - 4096, 0xa5)]));
  const { log, close } = openSqliteLog({ file, keys, mode: 'read' });
  await expect(log.follow(evaluation, { entry: () => {} })).rejects.toMatchObject({ code: 'log_corrupt' });
  await close();
});

test.skipIf(!MAY_MOUNT)('reads a database on a read-only mount, and refuses to drive it', async () => {
  const mount = join(folder, 'mount');
  mkdirSync(mount);
  mountTmpfs(mount, '4m');
  try {
    const evaluation = await filled(join(mount, 'truss.db'));
    execFileSync('mount', ['-o', 'remount,ro', mount]);
    const { log, topics, close } = openSqliteLog({ file: join(mount, 'truss.db'), keys, mode: 'read' });
    let heard = 0;
    await log.follow(evaluation, { entry: () => void heard++ });
    expect(heard).toBe(3);
    await expect(topics.publish('eval.requested', 'key', {})).rejects.toMatchObject({ code: 'log_read_only' });
    await close();
    expect(failure('drive', join(mount, 'truss.db')).code).toBe('log_read_only');

    execFileSync('mount', ['-o', 'remount,rw', mount]);
    writeFileSync(join(mount, 'truss.db-wal'), '');
    execFileSync('mount', ['-o', 'remount,ro', mount]);
    expect(failure('read', join(mount, 'truss.db'))).toMatchObject({
      code: 'log_unreadable',
      message: expect.stringContaining('truss.db-wal'),
    });
  } finally {
    execFileSync('umount', ['-l', mount]);
  }
});

test.skipIf(!MAY_MOUNT)(
  'a full disk refuses everything queued, keeps nothing half-written, and the log goes on when there is room',
  async () => {
    const mount = join(folder, 'mount');
    mkdirSync(mount);
    mountTmpfs(mount, '2m');
    try {
      const { log, topics, close } = openSqliteLog({ file: join(mount, 'truss.db'), keys, mode: 'drive' });
      const { child, opening, runStarted } = await startedEvaluation();
      const other = await startedEvaluation();
      await log.append(opening);
      await log.append([runStarted]);
      const ballast = join(mount, 'ballast');
      execFileSync('sh', ['-c', `head -c 4000000 /dev/zero > ${ballast} 2>/dev/null || true`]);
      const large = await child.next(drafts.note('x'.repeat(MAX_INLINE_BODY * 16)));
      const behind = await child.as(child.session).next(drafts.note('behind it'));
      const answers = await Promise.allSettled([
        log.append([large]),
        log.append([behind]),
        log.append(other.opening),
        log.putAttachment(new Uint8Array(10_000)),
        topics.publish('eval.index', 'key', {}),
      ]);
      for (const answer of answers) {
        expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'log_full', retryable: true } });
      }
      expect(await log.attachment(large.attachment?.ref.sha256 ?? '')).toBeNull();
      expect(await count(log.records(child.evaluation))).toBe(3);
      expect(await count(log.records(other.parent.evaluation))).toBe(0);
      rmSync(ballast);
      expect(await log.append([large])).toBe('confirmed');
      expect(await log.append([behind])).toBe('confirmed');
      expect(await log.append(other.opening)).toBe('confirmed');
      await close();
    } finally {
      execFileSync('umount', ['-l', mount]);
    }
  },
);

test.skipIf(!MAY_MOUNT)('a disk that is full from the start leaves no database behind', () => {
  const mount = join(folder, 'mount');
  mkdirSync(mount);
  mountTmpfs(mount, '64k');
  try {
    execFileSync('sh', ['-c', `head -c 100000 /dev/zero > ${join(mount, 'ballast')} 2>/dev/null || true`]);
    expect(failure('drive', join(mount, 'truss.db')).code).toBe('log_full');
    expect(existsSync(join(mount, 'truss.db'))).toBe(false);
  } finally {
    execFileSync('umount', ['-l', mount]);
  }
});

test('an entry that the disk gives back changed is never confirmed, and the rest of the log goes on', async () => {
  const { log, close } = openSqliteLog({ file, keys, mode: 'drive' });
  const { child, opening, runStarted } = await startedEvaluation();
  const other = await startedEvaluation();
  await log.append(opening);
  const saboteur = new DatabaseSync(file);
  saboteur.exec(
    `CREATE TRIGGER flip AFTER INSERT ON entries WHEN NEW.eval = '${child.evaluation}'
     BEGIN UPDATE entries SET payload = CAST(x'00' || substr(payload, 2) AS BLOB) WHERE position = NEW.position; END`,
  );
  const foreign: string[] = [];
  await log.follow(child.evaluation, { entry: () => {}, foreign: (_position, reason) => void foreign.push(reason) });
  const answers = await Promise.allSettled([log.append([runStarted]), log.append(other.opening)]);
  expect(answers[0]).toMatchObject({ status: 'rejected', reason: { code: 'log_corrupt' } });
  expect(answers[1]).toEqual({ status: 'fulfilled', value: 'confirmed' });
  expect(foreign).toHaveLength(1);
  saboteur.exec('DROP TRIGGER flip');
  saboteur.close();
  expect(await log.append([runStarted])).toBe('confirmed');
  await close();
});

test('an attachment that was changed on the disk is log_corrupt', async () => {
  const { log, close } = openSqliteLog({ file, keys, mode: 'drive' });
  const { sha256 } = await log.putAttachment(new Uint8Array(1000).fill(7));
  const saboteur = new DatabaseSync(file);
  saboteur.exec("UPDATE attachments SET bytes = x'00'");
  saboteur.close();
  await expect(log.attachment(sha256)).rejects.toMatchObject({ code: 'log_corrupt' });
  await log.putAttachment(new Uint8Array(1000).fill(7));
  expect((await log.attachment(sha256))?.length).toBe(1000);
  await close();
});

function mountTmpfs(at: string, size: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', at], { stdio: 'ignore' });
}
