import { existsSync, realpathSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { KeyRing } from '#lib/ledger';
import { takeDriverLock } from './driver-lock.js';
import { LogError } from './port.js';
import { Disk } from './sqlite-disk.js';
import { asLogError } from './sqlite-errors.js';
import { assertOurs, migrate, MIGRATIONS, type Ownership, pragma } from './sqlite-schema.js';
import { sqliteStore } from './sqlite-store.js';
import { createStoreLog, type OpenLog } from './store-log.js';

/** A writer waits this long for another process that is writing. */
const BUSY_MS = 5_000;

export interface SqliteLogOptions {
  readonly file: string;
  readonly keys: KeyRing;
  /**
   * `drive`: makes the file where there is none, appends and publishes; one process at a time.
   * `read`: reads and follows beside a driver, and may publish to `eval.requested`, which the driver sees within 200 ms.
   */
  readonly mode: 'drive' | 'read';
}

/**
 * Opens the log in one SQLite file. What an append or publish confirmed is on the disk.
 * @throws LogError `log_busy`, `log_missing`, `log_not_ours`, `log_newer`, `log_read_only`, `log_corrupt`, `log_full`, `log_unreadable`
 */
export function openSqliteLog({ file, keys, mode }: SqliteLogOptions): OpenLog {
  const path = realPath(file);
  try {
    return mode === 'drive' ? openToDrive(path, keys) : openToRead(path, keys);
  } catch (error) {
    throw asLogError(error, path, 'open');
  }
}

function openToDrive(file: string, keys: KeyRing): OpenLog {
  inspect(file);
  const unlock = takeDriverLock(file);
  const existed = existsSync(file);
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(file, { timeout: BUSY_MS });
    assertOurs(db, file);
    migrate(db);
    setUp(db, file);
  } catch (error) {
    db?.close();
    if (!existed)
      for (const suffix of ['', '-journal', '-wal', '-shm', '-driver']) rmSync(file + suffix, { force: true });
    unlock();
    throw error;
  }
  const driving = db;
  const disk = new Disk(file);
  const store = sqliteStore({
    file,
    db: driving,
    writes: 'all',
    writer: () => driving,
    disk,
    onClose() {
      disk.close();
      driving.close();
      unlock();
    },
  });
  return createStoreLog(store, keys);
}

function openToRead(file: string, keys: KeyRing): OpenLog {
  if (inspect(file) !== 'ours')
    throw new LogError('log_missing', `${file} does not exist yet or is empty: run \`truss eval\` first, or give --db`);
  const db = openReader(file);
  let writer: DatabaseSync | null = null;
  const store = sqliteStore({
    file,
    db,
    writes: 'inbox',
    writer() {
      if (writer === null) {
        writer = new DatabaseSync(uriOf(file, 'mode=rw'), { timeout: BUSY_MS });
        writer.exec('PRAGMA synchronous = FULL');
      }
      return writer;
    },
    disk: null,
    onClose() {
      writer?.close();
      db.close();
    },
  });
  return createStoreLog(store, keys);
}

/**
 * Looks at the header without a lock and without making a file.
 * @returns `missing`, `fresh` for a file without content, or `ours`
 */
function inspect(file: string): Ownership | 'missing' {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) {
    if (existsSync(dirname(file))) return 'missing';
    throw new LogError('log_unreadable', `the folder of ${file} does not exist: make it first`);
  }
  if (!stat.isFile()) throw new LogError('log_unreadable', `${file} is not a file: give the name of a database file`);
  if (stat.size === 0) return 'fresh';
  // Through SQLite and not through fs: closing a file of a database drops the locks that this process has on it.
  const db = new DatabaseSync(uriOf(file, 'mode=ro&immutable=1'));
  try {
    return assertOurs(db, file);
  } finally {
    db.close();
  }
}

function openReader(file: string): DatabaseSync {
  let db = new DatabaseSync(uriOf(file, 'mode=ro'), { readOnly: true, timeout: BUSY_MS });
  try {
    try {
      assertOurs(db, file);
    } catch (error) {
      const failed = asLogError(error, file, 'open');
      // WAL needs a file beside the database. Where none can be made and none is left, nobody writes here: read it as it lies.
      if (!(failed instanceof LogError) || failed.code !== 'log_unreadable') throw failed;
      if (existsSync(`${file}-wal`)) {
        throw new LogError(
          'log_unreadable',
          `${file} cannot be read where it lies, with ${basename(file)}-wal beside it in a folder that is read-only: copy both to another`,
          { cause: failed },
        );
      }
      db.close();
      db = new DatabaseSync(uriOf(file, 'mode=ro&immutable=1'), { readOnly: true });
      assertOurs(db, file);
    }
    const version = pragma(db, 'user_version');
    if (version < MIGRATIONS.length) {
      throw new LogError(
        'log_unreadable',
        `${file} has the older format ${version}: run \`truss eval\` on it once, which brings it up to date`,
      );
    }
    db.exec('PRAGMA trusted_schema = OFF');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function setUp(db: DatabaseSync, file: string): void {
  const mode = db.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (mode !== 'wal')
    throw new LogError(
      'log_unreadable',
      `${file} lies where SQLite cannot keep a write-ahead log (${String(mode)}): put it on a local disk`,
    );
  // NORMAL, because `Disk` waits for the disk after each commit, as FULL would.
  db.exec('PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 67108864');
  // Finds out now, not at the first append, whether the file may be written.
  db.exec('BEGIN IMMEDIATE; ROLLBACK');
}

function uriOf(file: string, query: string): URL {
  const url = pathToFileURL(file);
  url.search = query;
  return url;
}

/** One name for one file, so that two names of a database have one lock. */
function realPath(file: string): string {
  const path = resolve(file);
  if (existsSync(path)) return realpathSync(path);
  const folder = dirname(path);
  return existsSync(folder) ? join(realpathSync(folder), basename(path)) : path;
}
