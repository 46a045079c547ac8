import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { LogError } from './port.js';
import { asLogError } from './sqlite-errors.js';

/** Long enough that of two processes that start together one gets it, short enough to answer at once. */
const WAIT_MS = 200;

/**
 * Takes the right to drive a database: an exclusive SQLite lock on a file beside it, which the kernel gives back when the
 * process ends, however it ends. Only whoever holds the lock may delete the file, as a first start that failed does.
 * @returns what gives the right back
 * @throws LogError `log_busy` while another process has it
 */
export function takeDriverLock(file: string): () => void {
  const lockFile = `${file}-driver`;
  for (;;) {
    const before = identityOf(lockFile);
    const lock = lockOn(lockFile, file);
    // Whoever held it before may have deleted it meanwhile, and then this is a lock on a file that no other process finds.
    if (before !== null && before === identityOf(lockFile)) return () => lock.close();
    lock.close();
  }
}

/** Which file has the name now. Without opening it: closing a file takes this process's locks on it along. */
function identityOf(path: string): string | null {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.dev} ${stat.ino} ${stat.birthtimeNs}`;
}

function lockOn(lockFile: string, file: string): DatabaseSync {
  let lock: DatabaseSync | null = null;
  try {
    lock = new DatabaseSync(lockFile, { timeout: WAIT_MS });
    // The write is never committed. It fails where the lock file is read-only, on which SQLite would lock nothing.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1');
    return lock;
  } catch (error) {
    lock?.close();
    const cause = asLogError(error, lockFile, 'open');
    if (!(cause instanceof LogError)) throw cause;
    if (cause.code === 'log_unreadable') {
      throw new LogError(
        'log_read_only',
        `the folder of ${file} is read-only: make it writable, or use a command that only reads`,
        { cause },
      );
    }
    if (cause.code !== 'log_busy') throw cause;
    throw new LogError(
      'log_busy',
      `another truss process drives ${file}: wait until it ends, stop it, or give this one another --db`,
      { cause, retryable: true },
    );
  }
}
