import { beforeAll, describe, expect, test } from 'vitest';
import { canonicalJson, NO_SPEND, type Role, sha256Hex, utf8 } from '#lib/ledger';
import { type Attack, codes, resign, verifyRecords } from './attack.testkit.js';
import { type Evaluated, evaluate, recordsOf } from './evaluation.testkit.js';
import type { VerificationResult } from './index.js';

const ALL: readonly Role[] = ['coordinator', 'executor', 'projector'];

/** The coordinator's anchor of a failed run says that it passed and cost nothing. */
const flattered: Attack['change'] = (_, draft) =>
  draft.type === 'child_anchor' && draft.body.verdict === 'fail'
    ? [{ ...draft, body: { ...draft.body, verdict: 'pass', usage: NO_SPEND } }]
    : undefined;

/** The executor's run passes against its criteria, and was sealed as cheap as it says. */
const invented: Attack['change'] = (_, draft) => {
  if (draft.type === 'verdict') return [{ ...draft, body: { ...draft.body, verdict: 'pass' } }];
  if (draft.type === 'run_sealed')
    return [{ ...draft, body: { ...draft.body, verdict: 'pass', usage: { ...draft.body.usage, cost_nano_usd: 1 } } }];
  if (draft.type === 'child_anchor')
    return [{ ...draft, body: { ...draft.body, verdict: 'pass', usage: { ...draft.body.usage, cost_nano_usd: 1 } } }];
  return undefined;
};

describe.each([
  ['a whole body', { note: 'x'.repeat(70_000) }],
  ['a long text', { output: 'x'.repeat(70_000) }],
])('forged, and %s of every run erased', (what, long) => {
  let run: Evaluated;
  beforeAll(async () => {
    const isOn = (child: string): boolean => child.includes('.on.');
    run = await evaluate({ seed: 50, replicates: 1, repeats: 1, passes: (child) => !isOn(child), ...long });
  });

  async function attacked(holds: readonly Role[], change: Attack['change']): Promise<VerificationResult> {
    const records = await resign(run, { holds, change, newReport: true });
    const attachments = new Map([...run.attachments].filter(([, bytes]) => bytes.length <= 64 * 1024));
    return verifyRecords({ ...run, attachments }, records);
  }

  test('by the keys of coordinator and projector: never valid', async () => {
    const result = await attacked(['coordinator', 'projector'], flattered);
    expect(result.result).toBe('invalid');
    expect(codes(result)).toEqual(
      what === 'a long text' ? ['verdict_ref_invalid', 'usage_mismatch'] : ['attachment_missing'],
    );
  });

  test('by every key: never valid', async () => {
    const result = await attacked(ALL, invented);
    expect(result.result).toBe('invalid');
    expect(codes(result)).toEqual(
      what === 'a long text' ? ['verdict_ref_invalid', 'usage_mismatch'] : ['attachment_missing'],
    );
  });
});

test('a small body cannot be moved out of its entry, so that it could be erased', async () => {
  const run = await evaluate({ seed: 51, replicates: 1, repeats: 1 });
  const attachments = new Map(run.attachments);
  const records = await resign(run, {
    holds: ALL,
    newReport: true,
    change: (_, draft) => {
      if (draft.type !== 'workspace_changed') return undefined;
      const bytes = utf8(canonicalJson(draft.body));
      attachments.set(sha256Hex(bytes), bytes);
      return [{ type: draft.type, body: { attachment: { sha256: sha256Hex(bytes), size: bytes.length } } } as never];
    },
  });
  const result = await verifyRecords({ ...run, attachments }, records);
  expect([result.result, codes(result)]).toEqual(['invalid', ['body_malformed']]);
  expect((await verifyRecords(run, recordsOf(run.entries))).result).toBe('valid');
});
