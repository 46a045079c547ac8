import { beforeAll, describe, expect, test } from 'vitest';
import { type Entry, refOf, sha256Hex, trustStoreBytes, trustStoreDigest, utf8 } from '#lib/ledger';
import { buildLessonProof, type HeldLesson, type LessonProof } from '#lib/lessons';
import { codes, named, verifyRecords } from './attack.testkit.js';
import { type Evaluated, evaluate, recordsOf, signerOf, trust, trustOf } from './evaluation.testkit.js';

describe('starting lessons', () => {
  let run: Evaluated;
  let proof: LessonProof;
  beforeAll(async () => {
    const origin = await evaluate({ seed: 30, replicates: 1, repeats: 1 });
    const extracted = origin.entries.find((entry) => entry.type === 'lesson_extracted') as Entry;
    const chain = origin.entries.filter(({ ledger }) => ledger === extracted.ledger);
    const anchor = origin.entries.find(
      (entry) => entry.type === 'child_anchor' && entry.body.child_run_id === extracted.ledger,
    ) as Entry;
    proof = buildLessonProof(refOf(extracted), chain, anchor);
    const lesson = (extracted.body as unknown as { lesson: HeldLesson['lesson'] }).lesson;
    run = await evaluate({ seed: 31, starting: [proof], startingHeld: [{ ref: refOf(extracted), lesson }] });
  });

  test('that verify by their proofs are offered, recalled, and the evaluation is valid', async () => {
    const result = await verifyRecords(run, recordsOf(run.entries));
    expect([result.result, result.findings]).toEqual(['valid', []]);
    const used = run.entries.flatMap((entry) => (entry.type === 'lessons_recalled' ? entry.body.used : []));
    expect(used.some(({ lesson }) => lesson === proof.lesson)).toBe(true);
    expect(result.checked.proofs).toBe(8 + 1);
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

  test('a transcript may be erased: the ledger stays valid, and what is gone is said', async () => {
    const long = 'x'.repeat(70_000);
    const run = await evaluate({ seed: 41, replicates: 1, repeats: 1, note: long });
    expect(run.attachments.size).toBeGreaterThan(1);
    const whole = await verifyRecords(run, recordsOf(run.entries));
    expect([whole.result, whole.findings]).toEqual(['valid', []]);
    const kept = new Map([...run.attachments].filter(([, bytes]) => bytes.length <= 64 * 1024));
    const erased = await verifyRecords({ ...run, attachments: kept }, recordsOf(run.entries));
    expect([erased.result, codes(erased)]).toEqual(['valid', []]);
    const gone = run.entries.filter(
      (entry) => entry.type === 'agent_reported' && JSON.stringify(entry.body).length > 65_536,
    );
    expect(gone.length).toBe(2);
    expect(named(erased, 'information')).toEqual(
      gone.map((entry) => `attachment_missing ${entry.ledger.slice(35)}#${entry.seq}`).sort(),
    );
  });
});

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
