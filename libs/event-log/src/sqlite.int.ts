import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { keys } from './fixtures.testkit.js';
import { describeEventLog } from './log-contract.testkit.js';
import { openSqliteLog } from './sqlite.js';

describeEventLog('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'truss-log-'));
  const file = join(folder, 'truss.db');
  const here = openSqliteLog({ file, keys, mode: 'drive' });
  const elsewhere = openSqliteLog({ file, keys, mode: 'read' });
  const raw = new DatabaseSync(file, { timeout: 5_000 });
  return {
    ...here,
    elsewhere,
    async putRaw(evaluation, { payloadType, payload, keyid, signature }) {
      raw
        .prepare('INSERT INTO entries (eval, payload_type, payload, keyid, signature) VALUES (?, ?, ?, ?, ?)')
        .run(evaluation, payloadType, payload, keyid, signature);
    },
    async close() {
      raw.close();
      await elsewhere.close();
      await here.close();
      rmSync(folder, { recursive: true });
    },
  };
});
