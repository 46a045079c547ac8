import { beforeAll, describe, expect, test } from 'vitest';
import { type BodyOf, type Entry, type EntryHash, NO_SPEND } from '#lib/ledger';
import { codes, named, resign, verifyRecords } from './attack.testkit.js';
import { type Evaluated, evaluate, executor, recordsOf } from './evaluation.testkit.js';
import type { VerificationResult } from './index.js';

type Superseded = BodyOf<'child_anchor'>['superseded'];
const PAID = { ...NO_SPEND, steps: 1, cost_nano_usd: 40 };

let run: Evaluated;
let off: Entry;
let anchor: Entry;
beforeAll(async () => {
  let done = false;
  run = await evaluate({
    seed: 60,
    replicates: 1,
    repeats: 1,
    disturb: async (log, ledger) => {
      const chain = log.view.live.children.get(ledger as never)?.chain;
      if (done || chain == null || chain.hashes.length !== 3) return;
      done = true;
      const zombie = log.session(ledger);
      const [seq, prev] = [chain.hashes.length, chain.hashes.at(-1) as EntryHash];
      await log.takeOver(ledger, executor);
      const events = [{ type: 'usage' as const, usage: PAID }];
      off = await log.appendAt(ledger, { type: 'agent_reported', body: { events } }, executor, zombie, seq, prev);
    },
  });
  const found = run.entries.find((entry) => entry.type === 'child_anchor' && entry.body.child_run_id === off.ledger);
  if (found === undefined) throw new Error('no anchor');
  anchor = found;
});

async function stating(
  change: (superseded: Superseded) => Partial<Superseded>,
  without: Entry | null = null,
): Promise<VerificationResult> {
  const records = await resign(run, {
    holds: ['coordinator', 'projector'],
    newReport: true,
    // The run is as it was, and so is all else that the anchor says of it.
    change: (entry) => {
      if (entry !== anchor || entry.type !== 'child_anchor') return undefined;
      const superseded = { ...entry.body.superseded, ...change(entry.body.superseded) };
      return [{ type: entry.type, body: { ...entry.body, superseded } }];
    },
  });
  return verifyRecords(
    run,
    records.filter((record) => record !== without?.envelope),
  );
}
const at = (code: string): string => `${code} #${anchor.seq}`;

describe('what an anchor says of superseded entries', () => {
  test('is exact where they are at hand', async () => {
    const honest = await verifyRecords(run, recordsOf(run.entries));
    expect([honest.result, codes(honest), named(honest, 'warning')]).toEqual(['valid', [], []]);
    expect((anchor.body as BodyOf<'child_anchor'>).superseded).toMatchObject({ count: 1, usage: PAID });
    for (const cost_nano_usd of [0, 39, 41, null])
      expect(named(await stating(() => ({ usage: { ...PAID, cost_nano_usd } })))).toEqual([at('usage_mismatch')]);
  });

  test('is not less than what is at hand, and a warning says that the rest was not checked', async () => {
    const hashes = [off.hash, 'ab'.repeat(32) as EntryHash];
    const more = await stating(() => ({ count: 2, hashes, usage: { ...PAID, cost_nano_usd: 50 } }));
    expect([more.result, named(more), named(more, 'warning')]).toEqual(['valid', [], [at('superseded_unchecked')]]);
    for (const usage of [NO_SPEND, { ...PAID, cost_nano_usd: 39 }, { ...PAID, cost_nano_usd: null }])
      expect(named(await stating(() => ({ count: 2, hashes, usage })))).toEqual([at('usage_mismatch')]);
    const gone = await stating(() => ({}), off);
    expect([gone.result, named(gone), named(gone, 'warning')]).toEqual(['valid', [], [at('superseded_unchecked')]]);
  });

  test('lists each of them once, up to 500, and nothing of another run', async () => {
    const invented = (count: number): EntryHash[] =>
      Array.from({ length: count }, (_, i) => i.toString(16).padStart(64, '0') as EntryHash);
    const other = run.entries.find((entry) => entry.type === 'run_sealed' && entry.ledger !== off.ledger) as Entry;
    const lies: readonly Partial<Superseded>[] = [
      { count: 2 },
      { count: 501 },
      { count: 0 },
      { count: 0, hashes: [] },
      { count: 1, hashes: [] },
      { count: 2, hashes: [off.hash, off.hash] },
      { count: 1, hashes: [other.hash], usage: NO_SPEND },
      { count: 501, hashes: invented(501) },
    ];
    for (const lie of lies)
      expect([lie.count, named(await stating(() => lie))]).toEqual([lie.count, [at('usage_mismatch')]]);
    const many = await stating(() => ({ count: 501, hashes: [off.hash, ...invented(499)] }));
    expect([named(many), named(many, 'warning')]).toEqual([[], [at('superseded_unchecked')]]);
  });
});
