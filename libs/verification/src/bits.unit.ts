import { beforeAll, describe, expect, test } from 'vitest';
import { type Entry, type SignedEntry, utf8Decode } from '#lib/ledger';
import { flipped, verifyRecords } from './attack.testkit.js';
import { type Evaluated, evaluate, recordsOf } from './evaluation.testkit.js';
import type { VerificationResult } from './index.js';

let run: Evaluated;
beforeAll(async () => {
  run = await evaluate({ seed: 5, replicates: 1 });
});

/** Where each signed field's value begins in the payload. */
function fields(record: SignedEntry): number[] {
  const text = utf8Decode(record.payload);
  const keys = ['at', 'eval', 'key', 'ledger', 'prev', 'role', 'session', 'type'];
  const strings = keys.map((key) => text.lastIndexOf(`"${key}":"`) + key.length + 4);
  return [0, text.indexOf('"body":') + 9, text.lastIndexOf('"seq":') + 6, ...strings, text.length - 2];
}

function mutants(record: SignedEntry): SignedEntry[] {
  const other = (bytes: Uint8Array, at: number): Uint8Array => {
    const copy = Uint8Array.from(bytes);
    copy[at] = (copy[at] as number) ^ 1;
    return copy;
  };
  return [
    ...fields(record).map((at) => flipped(record, at)),
    flipped(record, fields(record)[1] as number, 7),
    { ...record, signature: other(record.signature, 0) },
    { ...record, signature: other(record.signature, 63) },
    { ...record, keyid: `${record.keyid.startsWith('0') ? '1' : '0'}${record.keyid.slice(1)}` as typeof record.keyid },
    { ...record, payloadType: `${record.payloadType}x` },
  ];
}

/** What its absence makes of the evaluation, by where the entry stood. */
function expected(entry: Entry, last: Entry): { result: string; code: string; severity: string } {
  if (entry === last) return { result: 'open', code: 'ledger_open', severity: 'information' };
  if (entry.seq === 0) return { result: 'invalid', code: 'genesis_missing', severity: 'error' };
  if (entry.type === 'run_sealed') return { result: 'invalid', code: 'ledger_truncated', severity: 'error' };
  return { result: 'invalid', code: 'sequence_gap', severity: 'error' };
}

function assertNamed(result: VerificationResult, entry: Entry, last: Entry): void {
  const { result: verdict, code, severity } = expected(entry, last);
  expect(result.result).toBe(verdict);
  expect(result.findings).toContainEqual(
    expect.objectContaining({ code, severity, ledger: entry.ledger, seq: entry.seq }),
  );
  expect(result.report).toBeNull();
}

describe('one bit turned over, in any entry and in any of its fields', () => {
  test('is never valid, and its ledger and seq are named', { timeout: 60_000 }, async () => {
    const records = recordsOf(run.entries);
    const last = run.entries.at(-1) as Entry;
    const seen = new Set<string>();
    for (const [i, entry] of run.entries.entries()) {
      // Every field of every type of entry, and of each single entry some of them.
      const all = mutants(records[i] as SignedEntry);
      const some = seen.has(entry.type) ? all.filter((_, at) => (at + i) % 5 === 0) : all;
      seen.add(entry.type);
      for (const mutant of some) {
        const result = await verifyRecords(run, records.with(i, mutant));
        assertNamed(result, entry, last);
        expect(result.met.foreign).toBe(1);
        expect(result.findings).toContainEqual(
          expect.objectContaining({ code: 'foreign_record', severity: 'warning', position: i }),
        );
      }
    }
  });

  test('and so is a record that was taken away', { timeout: 60_000 }, async () => {
    const records = recordsOf(run.entries);
    const last = run.entries.at(-1) as Entry;
    for (const [i, entry] of run.entries.entries()) {
      const result = await verifyRecords(run, records.toSpliced(i, 1));
      assertNamed(result, entry, last);
      expect(result.met.foreign).toBe(0);
    }
  });

  test('says where the record stood in the input', async () => {
    const records = recordsOf(run.entries);
    const result = await verifyRecords(run, records.with(9, flipped(records[9] as SignedEntry, 30)));
    const foreign = result.findings.find(({ code }) => code === 'foreign_record');
    expect([foreign?.position, foreign?.ledger, foreign?.seq]).toEqual([
      9,
      run.entries[9]?.ledger,
      run.entries[9]?.seq,
    ]);
  });
});
