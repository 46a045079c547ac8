import type { DatabaseSync } from 'node:sqlite';
import { LogError } from './port.js';

/** `PRAGMA application_id` of every database of ours: "TRSS". */
export const APPLICATION_ID = 0x54525353;

/** Step n brings a database of version n to n + 1; `PRAGMA user_version` says which were done. Never edit a released one. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE entries (
    position INTEGER PRIMARY KEY,
    eval TEXT NOT NULL,
    payload_type TEXT NOT NULL,
    payload BLOB NOT NULL,
    keyid TEXT NOT NULL,
    signature BLOB NOT NULL
  ) STRICT;
  CREATE INDEX entries_by_eval ON entries (eval, position);
  CREATE TABLE evaluations (eval TEXT PRIMARY KEY, position INTEGER NOT NULL UNIQUE) STRICT, WITHOUT ROWID;
  CREATE TABLE attachments (sha256 TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
  CREATE TABLE topics (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL
  ) STRICT;
  CREATE INDEX topics_by_topic ON topics (topic, position);
  CREATE TABLE offsets (
    topic TEXT NOT NULL,
    consumer_group TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (topic, consumer_group)
  ) STRICT, WITHOUT ROWID;
  `,
];

export type Ownership = 'fresh' | 'ours';

/**
 * Says whose database this is, from its header.
 * @throws LogError `log_not_ours`, `log_newer`
 */
export function assertOurs(db: DatabaseSync, file: string, newest: number = MIGRATIONS.length): Ownership {
  const application = pragma(db, 'application_id');
  if (application === 0 && pragma(db, 'user_version') === 0) {
    const tables = db.prepare('SELECT count(*) AS n FROM sqlite_schema').get();
    if (tables?.n === 0) return 'fresh';
  }
  if (application !== APPLICATION_ID) {
    throw new LogError(
      'log_not_ours',
      `${file} is a database of another program: give the file that truss made, or a new name`,
    );
  }
  const version = pragma(db, 'user_version');
  if (version > newest) {
    throw new LogError(
      'log_newer',
      `${file} has format ${version}, and this truss knows formats up to ${newest}: use the newer truss that wrote it`,
    );
  }
  return 'ours';
}

/** Runs the migrations that are missing, all or none, and returns how many ran. */
export function migrate(db: DatabaseSync, migrations: readonly string[] = MIGRATIONS): number {
  db.exec('BEGIN IMMEDIATE');
  try {
    const missing = migrations.slice(pragma(db, 'user_version'));
    for (const step of missing) db.exec(step);
    if (missing.length > 0)
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length}`);
    db.exec('COMMIT');
    return missing.length;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

export function pragma(db: DatabaseSync, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}
