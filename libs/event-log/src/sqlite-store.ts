import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { type EvalRunId, type JsonValue, type KeyId, utf8 } from '#lib/ledger';
import type { LogRecord, Topic, TopicRecord } from './port.js';
import type { Disk } from './sqlite-disk.js';
import { asLogError } from './sqlite-errors.js';
import { pragma } from './sqlite-schema.js';
import type { Store, Writes } from './store.js';

/** How often another process's writes are looked for. */
const POLL_MS = 100;
/** Above every position. */
const NONE = Number.MAX_SAFE_INTEGER;

const SQL = {
  end: 'SELECT max(position) AS position FROM entries WHERE eval = ? AND position < ?',
  head: 'SELECT max(position) AS position FROM entries WHERE position < ?',
  page: 'SELECT position, payload_type, payload, keyid, signature FROM entries WHERE eval = ? AND position > ? AND position < ? ORDER BY position LIMIT ?',
  range:
    'SELECT position, payload_type, payload, keyid, signature FROM entries WHERE position BETWEEN ? AND ? ORDER BY position',
  evaluations: 'SELECT eval, position FROM evaluations WHERE position > ? ORDER BY position LIMIT ?',
  attachment: 'SELECT bytes FROM attachments WHERE sha256 = ?',
  topicEnd: 'SELECT max(position) AS position FROM topics WHERE topic = ?',
  topicPage: 'SELECT position, key, value FROM topics WHERE topic = ? AND position > ? ORDER BY position LIMIT ?',
  offset: 'SELECT position FROM offsets WHERE topic = ? AND consumer_group = ?',
} as const;

const WRITE_SQL = {
  entry: 'INSERT INTO entries (eval, payload_type, payload, keyid, signature) VALUES (?, ?, ?, ?, ?)',
  evaluation: 'INSERT INTO evaluations (eval, position) VALUES (?, ?) ON CONFLICT DO NOTHING',
  attachment:
    'INSERT INTO attachments (sha256, bytes) VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes',
  publish: 'INSERT INTO topics (topic, key, value) VALUES (?, ?, ?)',
  commit:
    'INSERT INTO offsets (topic, consumer_group, position) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET position = max(position, excluded.position)',
  forget: 'DELETE FROM topics WHERE topic = ?1 AND position < (SELECT min(position) FROM offsets WHERE topic = ?1)',
} as const;

interface SqliteStoreOptions {
  readonly file: string;
  readonly db: DatabaseSync;
  readonly writes: Store['writes'];
  /** The connection to write through, opened when it is first needed. */
  readonly writer: () => DatabaseSync;
  /** Waits for the disk, where the writer does not at each commit. */
  readonly disk: Pick<Disk, 'sync'> | null;
  readonly onClose: () => void;
}

/** The tables of an opened database as a store. */
export function sqliteStore({ file, db, writes, writer, disk, onClose }: SqliteStoreOptions): Store {
  /** Position of the first entry that is not durable yet. */
  let hidden = NONE;
  const read = statements(() => db, SQL);
  const write = statements(writer, WRITE_SQL);

  function guarded<T>(doing: 'read' | 'write', work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw asLogError(error, file, doing);
    }
  }
  const get = (name: keyof typeof SQL, ...values: SQLInputValue[]) => guarded('read', () => read(name).get(...values));
  const all = (name: keyof typeof SQL, ...values: SQLInputValue[]) => guarded('read', () => read(name).all(...values));
  const run = (name: keyof typeof WRITE_SQL, ...values: SQLInputValue[]) =>
    Number(write(name).run(...values).lastInsertRowid);

  const tx: Writes = {
    entry(evaluation, { payloadType, payload, keyid, signature }, first) {
      const position = run('entry', evaluation, payloadType, payload, keyid, signature);
      if (disk !== null) hidden = Math.min(hidden, position);
      if (first) run('evaluation', evaluation, position);
      return position;
    },
    attachment: (sha256, bytes) => void run('attachment', sha256, bytes),
    publish: (topic, key, json) => run('publish', topic, key, json),
    commit(topic, group, position) {
      run('commit', topic, group, position);
      if (topic === 'eval.child-run.commands') run('forget', topic);
    },
  };

  return {
    writes,
    transaction: (work) =>
      guarded('write', () => {
        const connection = writer();
        connection.exec('BEGIN IMMEDIATE');
        try {
          work(tx);
          connection.exec('COMMIT');
        } catch (error) {
          rollBack(connection);
          hidden = NONE;
          throw error;
        }
      }),
    sync() {
      if (disk === null) return null;
      return disk.sync().then(() => {
        hidden = NONE;
      });
    },
    end: (evaluation) => positionOf(get('end', evaluation, hidden)),
    head: () => positionOf(get('head', hidden)),
    page: (evaluation, after, limit) => all('page', evaluation, after, hidden, limit).map(recordOf),
    range: (from, to) => all('range', from, to).map(recordOf),
    evaluations: (after, limit) =>
      all('evaluations', after, limit).map((row) => ({
        eval: String(row.eval) as EvalRunId,
        position: positionOf(row),
      })),
    attachment(sha256) {
      const bytes = get('attachment', sha256)?.bytes;
      return bytes === undefined ? undefined : bytesOf(bytes);
    },
    topicEnd: (topic) => positionOf(get('topicEnd', topic)),
    topicPage: (topic, after, limit) => all('topicPage', topic, after, limit).map((row) => topicRecordOf(topic, row)),
    offset: (topic: Topic, group) => positionOf(get('offset', topic, group)),
    watch(changed) {
      let version = pragma(db, 'data_version');
      const timer = setInterval(() => {
        try {
          const now = pragma(db, 'data_version');
          if (now === version) return;
          changed();
          version = now;
        } catch {
          // Tried again at the next tick; whoever waits for something that cannot be read is told by that call.
        }
      }, POLL_MS);
      timer.unref();
      return () => clearInterval(timer);
    },
    close: onClose,
  };
}

function rollBack(connection: DatabaseSync): void {
  try {
    if (connection.isTransaction) connection.exec('ROLLBACK');
  } catch {
    // The first failure says more, and SQLite rolls back by itself what it cannot finish.
  }
}

/** Each statement prepared once, when it is first used. */
function statements<N extends string>(
  connection: () => DatabaseSync,
  sql: Readonly<Record<N, string>>,
): (name: N) => StatementSync {
  const prepared = new Map<N, StatementSync>();
  return (name) => {
    const known = prepared.get(name);
    if (known !== undefined) return known;
    const statement = connection().prepare(sql[name]);
    prepared.set(name, statement);
    return statement;
  };
}

type Row = Record<string, unknown>;

function positionOf(row: Row | undefined): number {
  return Number(row?.position ?? 0);
}

// A database may come from anywhere: what it holds in place of bytes or text must not stop a reader.
function bytesOf(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : utf8(String(value).toWellFormed());
}

function recordOf(row: Row): LogRecord {
  return {
    position: positionOf(row),
    record: {
      payloadType: String(row.payload_type).toWellFormed(),
      payload: bytesOf(row.payload),
      keyid: String(row.keyid) as KeyId,
      signature: bytesOf(row.signature),
    },
  };
}

function topicRecordOf(topic: Topic, row: Row): TopicRecord {
  const text = String(row.value);
  let value: JsonValue = text;
  try {
    value = JSON.parse(text);
  } catch {
    // Written by somebody else. Whoever reads topics checks what comes: it will refuse a text.
  }
  return { topic, partition: 0, position: positionOf(row), key: String(row.key), value };
}
