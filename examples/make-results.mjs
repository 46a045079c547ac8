// Runs an evaluation of an example and keeps what anybody can check again: its report, its summary, its signed entries and the
// trust store. usage: node examples/make-results.mjs CONTRACT RESULTS_FOLDER [flags of `truss eval`]
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const truss = fileURLToPath(new URL('../bin/truss.js', import.meta.url));
const [contract, results, ...flags] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'truss-results-'));
const db = join(folder, 'truss.db');

function run(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [truss, '--db', db, ...args], {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  if (status !== 0) throw new Error(`truss ${args[0]} ended with ${status}:\n${stderr}`);
  return { stdout, stderr };
}

try {
  const { stdout, stderr } = run('eval', '--contract', contract, ...flags);
  const { eval_run_id } = JSON.parse(stdout);
  mkdirSync(results, { recursive: true });
  writeFileSync(join(results, 'report.json'), stdout);
  // The summary follows the progress after an empty line; where the database was is nobody's business.
  const summary = stderr.slice(stderr.indexOf('\n\n') + 2).replaceAll(db, 'truss.db');
  writeFileSync(join(results, 'summary.txt'), summary);
  run('export', eval_run_id, '-o', join(results, 'entries.jsonl'));
  copyFileSync(join(`${db}.keys`, 'trust.json'), join(results, 'trust.json'));
  process.stdout.write(summary);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
