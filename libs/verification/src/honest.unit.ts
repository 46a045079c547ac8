import { describe, expect, test } from 'vitest';
import { evaluate, recordsOf, trust } from './evaluation.testkit.js';
import { verifyEvaluation } from './index.js';

describe('an honest evaluation', () => {
  test('is valid', async () => {
    const run = await evaluate();
    const records = recordsOf(run.entries).map((record, position) => ({ record, position }));
    const result = await verifyEvaluation({
      evaluation: run.evaluation,
      records,
      keys: trust,
      attachment: async (sha) => run.attachments.get(sha) ?? null,
    });
    expect(result.findings).toEqual([]);
    expect(result.result).toBe('valid');
    console.log(run.entries.length, result.checked, result.met);
  });
});
