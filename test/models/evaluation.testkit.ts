import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { loadContract } from '#lib/contract';
import { type EvalReport, reportSchema } from '#lib/evaluation';
import { type Entry, trustStoreSchema, typedEntry, openEntry, openTrustStore } from '#lib/ledger';
import { defaultPolicy, Gates, type LiveDeps, systemClock } from '#lib/providers';
import { verifyEvaluation } from '#lib/verification';
import { openEmbedded } from '../../apps/truss/src/embedded.js';

export const CANARY = 'sk-canary-4f1c9a7e2b8d6053';

export const models = (): LiveDeps => ({
  env: { TEST_KEY: CANARY },
  gates: new Gates({ maxConcurrent: 8, requestsPerMinute: null }, systemClock),
  policy: { ...defaultPolicy, maxAttempts: 2, baseMs: 1, capMs: 1 },
});

export function folder(files: Readonly<Record<string, string>>): string {
  const path = mkdtempSync(join(tmpdir(), 'truss-models-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

export interface Evaluated {
  readonly report: EvalReport;
  readonly result: string;
  /** Findings that are errors. */
  readonly errors: unknown[];
  readonly entries: readonly Entry[];
  /** All bytes of the database. */
  readonly stored: string;
}

/** Runs a whole evaluation of a contract in one process on a database of its own, and verifies what it left. */
export async function evaluate(
  contractFile: string,
  { repeats = 2, deps = models() }: { repeats?: number; deps?: LiveDeps } = {},
): Promise<Evaluated> {
  const db = join(folder({}), 'truss.db');
  const loaded = await loadContract(contractFile);
  const { primary, alpha, margin, min_units } = loaded.contract.evaluation;
  const files = { directory: loaded.directory, workspace: loaded.workspaceDir };
  let broken: unknown = null;
  const embedded = await openEmbedded({ db, models: deps, fatal: (error) => (broken = error) });
  try {
    embedded.locate(loaded.digest, files);
    const id = await embedded.submit({
      kind: 'eval',
      requester: 'test',
      request_id: 'models',
      contracts: [{ digest: loaded.digest as never, contract: loaded.contract }],
      repeats,
      replicates: 1,
      seed: 11,
      concurrency: 1,
      starting_lessons: [],
      max_cost_nano_usd: null,
      deadline_ms: 3_600_000,
      statistics: { method_version: 1, primary, alpha, margin, min_units },
      files: [files],
    });
    await embedded.start();
    const { view } = await embedded.follow(id);
    while (view.state.report === null) {
      if (broken !== null) throw new Error('the evaluation broke', { cause: broken });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const trust = trustStoreSchema.parse(JSON.parse(readFileSync(`${db}.keys/trust.json`, 'utf8')));
    const keys = openTrustStore(trust);
    const records = [];
    const entries: Entry[] = [];
    for await (const record of embedded.open.log.records(id)) {
      records.push(record);
      const opened = openEntry(record.record, keys);
      if (opened.kind === 'entry') entries.push(typedEntry(opened.entry));
    }
    const attachment = (sha256: string) => embedded.open.log.attachment(sha256);
    const verified = await verifyEvaluation({ evaluation: id, records, keys: trust, attachment });
    const stored = ['', '-wal'].map((suffix) => readFileSync(db + suffix, 'latin1')).join('');
    return {
      report: reportSchema.parse(view.state.report.body),
      result: verified.result,
      errors: verified.findings.filter(({ severity }) => severity === 'error'),
      entries,
      stored,
    };
  } finally {
    await embedded.stop();
  }
}
