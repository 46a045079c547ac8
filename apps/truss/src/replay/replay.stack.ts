import { afterAll, expect, test } from 'vitest';
import { openTrustStore } from '#lib/ledger';
import type { VerificationResult } from '#lib/verification';
import { deploy } from '../../../../libs/event-log/src/kafka/deployment.testkit.js';
import { evaluate, type Evaluated, recordsOf, trust } from '../../../../libs/verification/src/evaluation.testkit.js';
import { createSignaturePool } from '../signature-pool.js';
import { replay } from './replay.js';

const deployment = await deploy(3);
afterAll(() => deployment.close());

const EVALUATIONS = 12;

test('a replay of real topics says of every evaluation what verifying it alone says, rubbish and copies among them', async () => {
  const log = await deployment.open({ keys: openTrustStore(trust) });
  const runs: Evaluated[] = [];
  for (let seed = 1; seed <= EVALUATIONS; seed++) {
    const run = await evaluate({ seed, repeats: 1, replicates: 1 });
    runs.push(run);
    for (const bytes of run.attachments.values()) await log.log.putAttachment(bytes);
    const records = recordsOf(run.entries);
    // The second loses an entry; of the third one comes twice, with rubbish between.
    const written = seed === 2 ? records.filter((_, at) => at !== 5) : records;
    for (const [at, record] of written.entries()) {
      await deployment.putRaw(run.evaluation, record);
      if (seed !== 3 || at !== 4) continue;
      await deployment.raw('eval.ledger', run.evaluation, Buffer.of(0, 1));
      await deployment.putRaw(run.evaluation, record);
    }
  }

  const pool = createSignaturePool();
  const results = new Map<string, VerificationResult>();
  let records = 0;
  for await (const result of replay({
    scan: log.scan(),
    records: (evaluation) => log.log.records(evaluation),
    keys: trust,
    attachment: (sha256) => log.log.attachment(sha256),
    verifySignatures: pool.verify,
    progress: (count) => (records = count),
  })) {
    expect(results.has(result.evaluation)).toBe(false);
    results.set(result.evaluation, result);
  }
  await pool.close();

  expect([...results.keys()].sort()).toEqual(runs.map(({ evaluation }) => evaluation).sort());
  const told = runs.map(({ evaluation }) => results.get(evaluation)?.result);
  expect(told).toEqual(runs.map((_, at) => (at === 1 ? 'invalid' : 'valid')));
  expect(results.get(runs[2]?.evaluation ?? '')?.met).toMatchObject({ duplicates: 1, foreign: 1 });
  expect(records).toBe(runs.reduce((sum, { entries }) => sum + entries.length, 0) + 1);
});
