import { beforeAll, describe, expect, test } from 'vitest';
import type { Contract, Learning, Panel } from '#lib/contract';
import { sha256Hex, trustStoreBytes, trustStoreDigest, utf8 } from '#lib/ledger';
import type { LessonProof } from '#lib/lessons';
import { codes, named, verifyRecords } from './attack.testkit.js';
import {
  CONTRACT,
  type Evaluated,
  evaluate,
  promotedOne,
  recordsOf,
  signerOf,
  trust,
  trustOf,
} from './evaluation.testkit.js';

describe('starting lessons', () => {
  let run: Evaluated;
  let proof: LessonProof;
  beforeAll(async () => {
    const origin = await promotedOne({ seed: 30, replicates: 1, repeats: 1 });
    proof = origin.proof;
    run = await evaluate({ seed: 31, starting: [proof], startingHeld: [origin.held] });
  });

  test('that verify by their proofs are offered, recalled, and the evaluation is valid', async () => {
    const result = await verifyRecords(run, recordsOf(run.entries));
    expect([result.result, result.findings]).toEqual(['valid', []]);
    const used = run.entries.flatMap((entry) => (entry.type === 'lessons_recalled' ? entry.body.used : []));
    expect(used.some(({ lesson }) => lesson === proof.lesson)).toBe(true);
    expect(result.checked.proofs).toBe(8 + 1);
  });

  test('promoted by fewer gates or a smaller quorum than the contract asks for may be refused, and not used', async () => {
    const laxer: readonly Partial<Contract>[] = [
      { learning: { ...(CONTRACT.learning as Learning), gates: ['verdict', 'checks'] } },
      { panel: { ...(CONTRACT.panel as Panel), quorum: 1 } },
    ];
    for (const [i, contract] of laxer.entries()) {
      const { proof: weak, held } = await promotedOne({ seed: 32 + i, replicates: 1, repeats: 1, contract });
      const script = { seed: 34 + i, replicates: 1, repeats: 1, starting: [weak], startingHeld: [held] };
      const used = await evaluate(script);
      const recalled = used.entries.filter((entry) => entry.type === 'lessons_recalled');
      const result = await verifyRecords(used, recordsOf(used.entries));
      expect([result.result, named(result)]).toEqual([
        'invalid',
        recalled.map((entry) => `lesson_unverified ${entry.ledger.slice(35)}#${entry.seq}`),
      ]);
      const refused = await evaluate({ ...script, refuses: (ref) => ref === held.ref });
      expect((await verifyRecords(refused, recordsOf(refused.entries))).result).toBe('valid');
    }
  });

  test('may not be erased', async () => {
    const kept = new Map(
      [...run.attachments].filter(([, bytes]) => !new TextDecoder().decode(bytes).includes('"anchor"')),
    );
    const result = await verifyRecords({ ...run, attachments: kept }, recordsOf(run.entries));
    expect(result.result).toBe('invalid');
    expect(named(result)).toContain('attachment_missing #0');
  });

  test('by an origin whose keys the verifier does not trust are refused', async () => {
    const stranger = signerOf('executor', 'stranger');
    const keys = {
      ...trust,
      keys: [...trust.keys.filter(({ role }) => role !== 'executor'), ...trustOf(stranger).keys],
    };
    const result = await verifyRecords({ ...run, trust: keys }, recordsOf(run.entries));
    expect(codes(result)).toContain('lesson_unverified');
  });
});

describe('bodies outside their entries', () => {
  test('a large report is read from its attachment, and may not be erased', { timeout: 60_000 }, async () => {
    const run = await evaluate({ seed: 40, replicates: 20, repeats: 3, contract: { learning: null } });
    const attached = [...run.attachments].filter(([, bytes]) => bytes.length > 64 * 1024);
    expect(attached.length).toBe(1);
    expect((await verifyRecords(run, recordsOf(run.entries))).result).toBe('valid');
    const kept = new Map([...run.attachments].filter(([, bytes]) => bytes.length <= 64 * 1024));
    const erased = await verifyRecords({ ...run, attachments: kept }, recordsOf(run.entries));
    expect([erased.result, codes(erased)]).toEqual(['invalid', ['attachment_missing']]);
    const [[name, bytes]] = attached as [[string, Uint8Array]];
    const damaged = Uint8Array.from(bytes);
    damaged[50] = (damaged[50] as number) ^ 1;
    const other = await verifyRecords(
      { ...run, attachments: new Map([...kept, [name, damaged]]) },
      recordsOf(run.entries),
    );
    expect([other.result, codes(other)]).toEqual(['invalid', ['attachment_missing']]);
  });

  test('the long texts of a transcript may be erased: the ledger stays valid, and what is gone is said', async () => {
    const run = await evaluate({ seed: 41, replicates: 1, repeats: 1, output: 'x'.repeat(70_000) });
    const whole = await verifyRecords(run, recordsOf(run.entries));
    expect([whole.result, whole.findings]).toEqual(['valid', []]);
    const erased = await verifyRecords({ ...run, attachments: withoutLong(run) }, recordsOf(run.entries));
    expect([erased.result, codes(erased), codes(erased, 'warning')]).toEqual(['valid', [], []]);
    expect({ ...erased, findings: [] }).toEqual({ ...whole, findings: [] });
    const answers = run.entries.filter((entry) => entry.type === 'answer_submitted');
    expect(named(erased, 'information')).toEqual(
      answers.map((entry) => `attachment_missing ${entry.ledger.slice(35)}#${entry.seq}`).sort(),
    );
  });

  test('no body of a run may be erased, since verdicts and sums are derived from bodies', async () => {
    const run = await evaluate({ seed: 44, replicates: 1, repeats: 1, note: 'x'.repeat(70_000) });
    expect((await verifyRecords(run, recordsOf(run.entries))).result).toBe('valid');
    const erased = await verifyRecords({ ...run, attachments: withoutLong(run) }, recordsOf(run.entries));
    const reported = run.entries.filter(
      (entry) => entry.type === 'agent_reported' && JSON.stringify(entry.body).length > 65_536,
    );
    expect(reported.length).toBe(2);
    expect([erased.result, named(erased)]).toEqual([
      'invalid',
      reported.map((entry) => `attachment_missing ${entry.ledger.slice(35)}#${entry.seq}`).sort(),
    ]);
  });
});

function withoutLong(run: Evaluated): Map<string, Uint8Array> {
  return new Map([...run.attachments].filter(([, bytes]) => bytes.length <= 64 * 1024));
}

describe('the trust store that an evaluation pins', () => {
  test('holds every key of its chains', async () => {
    const run = await evaluate({ seed: 42, replicates: 1, repeats: 1 });
    const pinned = trustStoreBytes({ ...trust, keys: trust.keys.filter(({ role }) => role !== 'executor') });
    const run2 = await evaluate({ seed: 42, replicates: 1, repeats: 1, pinned });
    expect((await verifyRecords(run, recordsOf(run.entries))).result).toBe('valid');
    expect(codes(await verifyRecords(run2, recordsOf(run2.entries)))).toEqual(['key_unknown']);
    expect(sha256Hex(trustStoreBytes(trust))).toBe(trustStoreDigest(trust));
    const none = await evaluate({ seed: 42, replicates: 1, repeats: 1, pinned: utf8('{}') });
    expect(codes(await verifyRecords(none, recordsOf(none.entries)))).toEqual(['plan_mismatch']);
  });
});

describe('caps', () => {
  test('are findings, before anything is read', async () => {
    const run = await evaluate({ seed: 43, replicates: 1, repeats: 1 });
    const records = recordsOf(run.entries);
    const plan = await verifyRecords(run, records, { limits: { runs: 1 } });
    expect([plan.result, named(plan)]).toEqual(['invalid', ['input_too_large #0']]);
    const count = await verifyRecords(run, records, { limits: { records: 10 } });
    expect([count.result, named(count)]).toEqual(['invalid', ['input_too_large -#-']]);
  });
});
