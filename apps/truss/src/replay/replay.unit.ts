import { describe, expect, test } from 'vitest';
import type { LogRecord, ScannedRecord } from '#lib/event-log';
import type { VerificationResult } from '#lib/verification';
import { evaluate, type Evaluated, recordsOf, trust } from '../../../../libs/verification/src/evaluation.testkit.js';
import { replay } from './replay.js';

const [one, two, cancelled] = await Promise.all([
  evaluate({ seed: 1, repeats: 1, replicates: 1 }),
  evaluate({ seed: 2, repeats: 1, replicates: 1 }),
  evaluate({ seed: 3, cancelAfter: 4 }),
]);

/** The records of several evaluations in one log, one of each in turn. */
function interleaved(...runs: readonly Evaluated[]): ScannedRecord[] {
  const queues = runs.map((run) => recordsOf(run.entries).map((record) => ({ evaluation: run.evaluation, record })));
  const mixed: ScannedRecord[] = [];
  while (queues.some((queue) => queue.length > 0)) {
    for (const queue of queues) {
      const next = queue.shift();
      if (next !== undefined) mixed.push({ ...next, position: mixed.length + 1 });
    }
  }
  return mixed;
}

async function replayed(
  log: readonly ScannedRecord[],
  linger = 5,
  batch = 3,
  /** Told of how many records were read, and of each evaluation, as they come. */
  heard: (said: string | number) => void = () => {},
): Promise<VerificationResult[]> {
  async function* scan(): AsyncGenerator<ScannedRecord[]> {
    for (let at = 0; at < log.length; at += batch) yield log.slice(at, at + batch);
  }
  async function* records(evaluation: string): AsyncGenerator<LogRecord> {
    yield* log.filter((record) => record.evaluation === evaluation);
  }
  const attachments = new Map([one, two, cancelled].flatMap((run) => [...run.attachments]));
  const results: VerificationResult[] = [];
  const input = {
    scan: scan(),
    records,
    keys: trust,
    attachment: async (sha256: string) => attachments.get(sha256) ?? null,
    verifySignatures: async (
      checks: readonly {
        key: { verify(m: Uint8Array, s: Uint8Array): boolean };
        message: Uint8Array;
        signature: Uint8Array;
      }[],
    ) => checks.map(({ key, message, signature }) => key.verify(message, signature)),
    linger,
    progress: heard,
  };
  for await (const result of replay(input)) {
    heard(result.evaluation);
    results.push(result);
  }
  return results;
}

const told = (results: readonly VerificationResult[]) => results.map(({ evaluation, result }) => [evaluation, result]);

describe('a replay of a log', () => {
  test('says of every evaluation what verifying it alone says, though their records are mixed', async () => {
    const results = await replayed(interleaved(one, two, cancelled));
    expect(told(results).sort()).toEqual(
      [
        [one.evaluation, 'valid'],
        [two.evaluation, 'valid'],
        [cancelled.evaluation, 'ended'],
      ].sort(),
    );
  });

  test('tells of an evaluation once it ended, and not only when the log does', async () => {
    const [first, second] = [interleaved(one), interleaved(two)];
    const told: (string | number)[] = [];
    const log = [...first, ...second];
    await replayed(log, 5, 3, (said) => told.push(said));
    const at = told.indexOf(one.evaluation);
    expect(told[at - 1]).toBeLessThan(log.length);
    expect(told.indexOf(two.evaluation)).toBeGreaterThan(at);
  });

  test('reads an evaluation again that gets a record after it was done with, and finds what is in it', async () => {
    const [first, second] = [interleaved(one), interleaved(two)];
    const late = first.at(-1) as ScannedRecord;
    const results = await replayed([...first, ...second, late]);
    expect(told(results)).toEqual([
      [one.evaluation, 'valid'],
      [two.evaluation, 'valid'],
      [one.evaluation, 'valid'],
    ]);
    expect(results[2]?.met.duplicates).toBe(1);
  });

  test('finds a damaged entry, and goes on with the others', async () => {
    const log = interleaved(one, two).map((scanned, at) => {
      if (at !== 10) return scanned;
      const payload = Uint8Array.from(scanned.record.payload);
      payload[20] = (payload[20] ?? 0) ^ 1;
      return { ...scanned, record: { ...scanned.record, payload } };
    });
    const results = told(await replayed(log));
    const damaged = log[10]?.evaluation;
    expect(results).toContainEqual([damaged, 'invalid']);
    expect(results).toContainEqual([damaged === one.evaluation ? two.evaluation : one.evaluation, 'valid']);
  });

  test('waits for a reader that is slower than the scan, and loses nothing', async () => {
    const big = interleaved(one).flatMap((scanned) => Array.from({ length: 100 }, () => scanned));
    const [result] = await replayed(big, 500, 2_000);
    expect(result?.result).toBe('valid');
    expect(result?.met.duplicates).toBe(99 * one.entries.length);
  });
});
