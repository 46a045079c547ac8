import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { asLogError } from './sqlite-errors.js';
import { LogError } from './port.js';

/** Whether a process drives the database right now. Takes nothing from it, and writes nothing. */
export function isDriven(file: string): boolean {
  const lockFile = `${file}-driver`;
  if (!existsSync(lockFile)) return false;
  let lock: DatabaseSync | null = null;
  try {
    lock = new DatabaseSync(lockFile, { readOnly: true, timeout: 0 });
    // The driver's lock is exclusive: it keeps readers out too.
    lock.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    const cause = asLogError(error, lockFile, 'read');
    if (cause instanceof LogError && cause.code === 'log_busy') return true;
    throw cause;
  } finally {
    lock?.close();
  }
}
