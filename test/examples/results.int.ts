import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalJson, type JsonObject, trustStoreSchema } from '#lib/ledger';
import { verifyEvaluation } from '#lib/verification';
import { readBundle } from '../../apps/truss/src/bundle/read.js';

const root = join(import.meta.dirname, '..', '..');
const folders = globSync('examples/*/results/*/report.json', { cwd: root })
  .map((file) => dirname(file))
  .sort();

test('every repair contract has results', () => {
  expect(folders.filter((folder) => folder.startsWith(join('examples', 'repair')))).toHaveLength(3);
});

describe.each(folders)('%s', (folder) => {
  const file = (name: string) => join(root, folder, name);

  test('verifies from its entries and trust store alone, to the very report that is kept', async () => {
    const bundle = await readBundle(file('entries.jsonl'));
    const result = await verifyEvaluation({
      ...bundle,
      keys: trustStoreSchema.parse(JSON.parse(readFileSync(file('trust.json'), 'utf8'))),
      attachment: async (sha256) => bundle.attachments.get(sha256) ?? null,
    });
    expect(result.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(result.result).toBe('valid');
    const kept = JSON.parse(readFileSync(file('report.json'), 'utf8')) as JsonObject;
    expect(canonicalJson(kept)).toBe(canonicalJson(result.report));
    expect(readFileSync(file('summary.txt'), 'utf8')).toContain(String(kept.eval_run_id));
  });
});
