import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadContract } from '#lib/contract';
import { openEmbedded } from './embedded.js';

test('an evaluation runs to its report', async () => {
  const loaded = await loadContract('examples/repair/contract.toml');
  const db = join(mkdtempSync(join(tmpdir(), 'truss-t-')), 'truss.db');
  let failed: unknown = null;
  const e = await openEmbedded({ db, fatal: (error) => { failed = error; console.log('FATAL', error); } });
  e.locate(loaded.digest, { directory: loaded.directory, workspace: loaded.workspaceDir });
  const { evaluation } = loaded.contract;
  await e.start();
  const id = await e.submit({
    kind: 'eval', requester: 'local', request_id: 'x', contracts: [{ digest: loaded.digest as never, contract: loaded.contract as never }],
    repeats: 3, replicates: 1, seed: 1, concurrency: 1, starting_lessons: [], max_cost_nano_usd: null, deadline_ms: 3600_000,
    statistics: { method_version: 1, primary: evaluation.primary, alpha: evaluation.alpha, margin: evaluation.margin, min_units: evaluation.min_units },
    files: [{ directory: loaded.directory, workspace: loaded.workspaceDir }],
  });
  const open = await e.follow(id);
  open.subscribe((entry, joining) => console.log(entry.ledger.slice(35), entry.seq, entry.type, joining, JSON.stringify(entry.body).slice(0, 150)));
  while (open.view.state.report === null && failed === null) await new Promise((r) => setTimeout(r, 50));
  console.log(JSON.stringify(open.view.state.report, null, 1).slice(0, 6000));
  await e.stop();
  expect(failed).toBe(null);
});
