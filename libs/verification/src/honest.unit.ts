import { beforeAll, describe, expect, test } from 'vitest';
import { type Entry, type EntryHash, keyId } from '#lib/ledger';
import { named, shuffled, verifyRecords } from './attack.testkit.js';
import { type Evaluated, evaluate, executor, recordsOf, signerOf, trust } from './evaluation.testkit.js';
import { verifyEvaluation, VerificationError } from './index.js';

let run: Evaluated;
beforeAll(async () => {
  run = await evaluate();
});

describe('an honest evaluation', () => {
  test('is valid, and everything in it was checked', async () => {
    const result = await verifyRecords(run, recordsOf(run.entries));
    expect(result.findings).toEqual([]);
    expect(result.result).toBe('valid');
    expect(result.checked).toEqual({
      entries: run.entries.length,
      signatures: run.entries.length,
      links: run.entries.length,
      anchors: 8,
      proofs: 8,
      numbers: 217,
      lessons: 6,
    });
    expect(result.report?.report_ref).toBe(`${run.evaluation}#${run.entries.at(-1)?.seq}@${run.entries.at(-1)?.hash}`);
    expect(result.head).toBe(run.entries.at(-1)?.hash);
    expect(result.outcome).toBe('complete');
  });

  test('used lessons that went through every gate', () => {
    const recalled = run.entries.filter((entry) => entry.type === 'lessons_recalled' && entry.body.used.length > 0);
    expect(recalled.length).toBe(2);
  });

  test('is valid by the default verifier of signatures too', async () => {
    const records = recordsOf(run.entries).map((record, position) => ({ record, position }));
    const result = await verifyEvaluation({
      evaluation: run.evaluation,
      records,
      keys: trust,
      attachment: async () => null,
    });
    expect(result.result).toBe('valid');
  });

  test('is valid with fails and unverifiable runs in it', async () => {
    const mixed = await evaluate({
      seed: 7,
      passes: (child) => child.includes('.on.'),
      approves: (child, name) => child.endsWith('1') || name === 'a',
    });
    const result = await verifyRecords(mixed, recordsOf(mixed.entries));
    expect(result.findings).toEqual([]);
    expect(result.result).toBe('valid');
  });

  test('that was cancelled is ended', async () => {
    const cancelled = await evaluate({ seed: 2, cancelAfter: 60 });
    const result = await verifyRecords(cancelled, recordsOf(cancelled.entries));
    expect(named(result)).toEqual([]);
    expect(result.result).toBe('ended');
    expect(result.outcome).toBe('cancelled');
  });
});

describe('order is no evidence', () => {
  test('any shuffle gives the same result', { timeout: 60_000 }, async () => {
    const straight = await verifyRecords(run, recordsOf(run.entries));
    for (let seed = 0; seed < 25; seed++) {
      expect(await verifyRecords(run, shuffled(recordsOf(run.entries), seed))).toEqual(straight);
    }
  });

  test('every adjacent swap gives the same result', { timeout: 60_000 }, async () => {
    const records = recordsOf(run.entries);
    for (let i = 0; i + 1 < records.length; i += 2) {
      const swapped = records.with(i, records[i + 1] as never).with(i + 1, records[i] as never);
      expect((await verifyRecords(run, swapped)).result).toBe('valid');
    }
  });

  test('every entry twice is counted and harmless', async () => {
    const records = recordsOf(run.entries);
    const result = await verifyRecords(run, shuffled([...records, ...records], 3));
    expect(result.result).toBe('valid');
    expect(result.findings).toEqual([]);
    expect(result.met.duplicates).toBe(records.length);
  });
});

describe('what is cut off at the end', () => {
  test('makes no evaluation valid, whatever the length', { timeout: 60_000 }, async () => {
    const records = recordsOf(run.entries);
    for (let length = 1; length < records.length; length += 2) {
      const result = await verifyRecords(run, records.slice(0, length));
      expect([length, result.result, named(result)]).toEqual([length, 'open', []]);
      expect(result.report).toBeNull();
    }
  });

  test('is missed by a saved head', async () => {
    const head = run.entries.at(-1)?.hash as EntryHash;
    expect((await verifyRecords(run, recordsOf(run.entries), { expectHead: head })).result).toBe('valid');
    const rolledBack = await verifyRecords(run, recordsOf(run.entries).slice(0, -40), { expectHead: head });
    expect([rolledBack.result, named(rolledBack)]).toEqual(['invalid', ['head_mismatch #-']]);
    const deleted = await verifyRecords(run, [], { expectHead: head });
    expect(deleted.result).toBe('not_found');
    expect(named(deleted)).toEqual(['not_found #-', 'head_mismatch #-']);
  });

  test('of one child is named by ledger and seq', async () => {
    const child = run.entries.find((entry) => entry.type === 'run_sealed') as Entry;
    for (let keep = 0; keep <= child.seq; keep++) {
      const rest = run.entries.filter((entry) => entry.ledger !== child.ledger || entry.seq < keep);
      const result = await verifyRecords(run, recordsOf(rest));
      expect(result.result).toBe('invalid');
      expect(named(result)).toContain(`ledger_truncated ${child.ledger.slice(35)}#${keep}`);
    }
  });
});

describe('a displaced writer', () => {
  test('writes on before, at and after the hand-over, in any order: superseded, and valid', async () => {
    let done = 0;
    const disturbed = await evaluate({
      seed: 11,
      replicates: 1,
      disturb: async (log, ledger) => {
        const chain = log.view.live.children.get(ledger as never)?.chain;
        if (chain == null || (chain.hashes.length !== 3 && chain.hashes.length !== 6) || done >= 6) return;
        done += 1;
        const zombie = log.session(ledger);
        const [seq, prev] = [chain.hashes.length, chain.hashes.at(-1) as EntryHash];
        await log.takeOver(ledger, executor);
        const first = await log.appendAt(ledger, note('late'), executor, zombie, seq, prev);
        await log.appendAt(ledger, note('later'), executor, zombie, seq + 1, first.hash);
      },
    });
    const straight = await verifyRecords(disturbed, recordsOf(disturbed.entries));
    expect(named(straight)).toEqual([]);
    expect(straight.result).toBe('valid');
    expect(straight.met.superseded).toBe(2 * done);
    expect(done).toBe(6);
    expect(new Set(named(straight, 'information').map((text) => text.split(' ')[0]))).toEqual(new Set(['superseded']));
    for (let seed = 0; seed < 10; seed++)
      expect(await verifyRecords(disturbed, shuffled(recordsOf(disturbed.entries), seed))).toMatchObject({
        result: 'valid',
        met: straight.met,
      });
    // A superseded record that K removes spoils nothing.
    const zombies = disturbed.entries.filter(
      (entry) => entry.type === 'agent_reported' && JSON.stringify(entry.body).includes('"late"'),
    );
    const without = await verifyRecords(
      disturbed,
      recordsOf(disturbed.entries.filter((entry) => !zombies.includes(entry))),
    );
    expect([without.result, named(without)]).toEqual(['valid', []]);
  });

  test('may have held an outcome: that is a warning', async () => {
    const disturbed = await evaluate({
      seed: 12,
      replicates: 1,
      repeats: 1,
      disturb: async (log, ledger) => {
        const state = log.view.state.children.get(ledger as never)?.run;
        const chain = log.view.live.children.get(ledger as never)?.chain;
        if (
          chain == null ||
          state == null ||
          state.answer === null ||
          state.criteria.size > 0 ||
          chain.hashes.length > 7
        )
          return;
        if (chain.writer.session !== log.session(ledger)) return;
        const zombie = log.session(ledger);
        const [seq, prev] = [chain.hashes.length, chain.hashes.at(-1) as EntryHash];
        await log.takeOver(ledger, executor);
        await log.appendAt(
          ledger,
          { type: 'verdict', body: { verdict: 'fail', criteria: [], reason: 'unwelcome' } },
          executor,
          zombie,
          seq,
          prev,
        );
      },
    });
    const result = await verifyRecords(disturbed, recordsOf(disturbed.entries));
    expect(result.result).toBe('valid');
    expect(named(result, 'warning').every((text) => text.startsWith('superseded_outcome'))).toBe(true);
    expect(named(result, 'warning').length).toBeGreaterThan(0);
  });
});

describe('what is foreign', () => {
  test('is counted and harmless, wherever it stands', async () => {
    const records = recordsOf(run.entries);
    const [one] = records;
    if (one === undefined) throw new Error('no record');
    const stranger = signerOf('executor', 'stranger');
    const rubbish = [
      { ...one, payload: new Uint8Array(0) },
      { ...one, payload: one.payload.slice(0, 40) },
      { ...one, signature: new Uint8Array(64) },
      { ...one, signature: new Uint8Array(3) },
      { ...one, keyid: stranger.keyId },
      { ...one, payloadType: 'application/json' },
      { ...one, payload: new Uint8Array(1_000_000) },
    ];
    const result = await verifyRecords(run, [...rubbish, ...records, ...rubbish]);
    expect([result.result, named(result)]).toEqual(['valid', []]);
    expect(result.met.foreign).toBe(14);
    expect(new Set(named(result, 'warning').map((text) => text.split(' ')[0]))).toEqual(
      new Set(['foreign_record', 'key_unknown', 'input_too_large']),
    );
  });

  test('as a whole is nothing to check', async () => {
    const strangers = { ...trust, keys: trust.keys.filter(({ role }) => role === 'requester') };
    expect((await verifyRecords({ ...run, trust: strangers }, recordsOf(run.entries))).result).toBe('not_found');
    expect((await verifyRecords(run, [])).result).toBe('not_found');
    const other = await evaluate({ seed: 3, repeats: 1, replicates: 1 });
    const unknown = await verifyRecords({ ...run, evaluation: other.evaluation }, recordsOf(run.entries));
    expect(unknown.result).toBe('not_found');
  });

  test('an entry of another evaluation is met and harmless', async () => {
    const other = await evaluate({ seed: 3, repeats: 1, replicates: 1 });
    const result = await verifyRecords(run, [...recordsOf(other.entries), ...recordsOf(run.entries)]);
    expect(result.result).toBe('valid');
    expect(result.met.foreign).toBe(other.entries.length);
    expect(result.findings.every(({ code, severity }) => code === 'ledger_mismatch' && severity === 'warning')).toBe(
      true,
    );
  });
});

describe('the trust store', () => {
  test('without keys is refused', async () => {
    await expect(verifyRecords({ ...run, trust: { version: 1, keys: [] } }, recordsOf(run.entries))).rejects.toThrow(
      VerificationError,
    );
  });

  test('with a key of small order, or one key in two roles, trusts nothing', async () => {
    const [first] = trust.keys;
    if (first === undefined) throw new Error('no key');
    const twice = signerAs('projector', first.public_key);
    const result = await verifyRecords(
      { ...run, trust: { ...trust, keys: [...trust.keys, twice] } },
      recordsOf(run.entries),
    );
    expect([result.result, named(result)]).toEqual(['invalid', ['key_unknown -#-']]);
    const small = { ...trust, keys: [...trust.keys, signerAs('executor', `01${'00'.repeat(31)}`)] };
    const rejected = await verifyRecords({ ...run, trust: small }, recordsOf(run.entries));
    expect([rejected.result, named(rejected)]).toEqual(['invalid', ['key_rejected -#-']]);
  });

  test('accepts a key that is no longer active for the heads that it lists, and for no other', async () => {
    const head = run.entries.at(-1)?.hash as EntryHash;
    for (const status of ['retired', 'compromised'] as const) {
      const unlisted = {
        ...trust,
        keys: trust.keys.map((key) => ({ ...key, status, accepted_heads: ['ab'.repeat(32)] })),
      };
      const refused = await verifyRecords({ ...run, trust: unlisted }, recordsOf(run.entries));
      expect(refused.result).toBe('invalid');
      expect(refused.findings.map(({ code }) => code)).toEqual(['key_revoked', 'key_revoked', 'key_revoked']);
      const listed = { ...trust, keys: trust.keys.map((key) => ({ ...key, status, accepted_heads: [head] })) };
      expect((await verifyRecords({ ...run, trust: listed }, recordsOf(run.entries))).result).toBe('valid');
    }
  });

  test('of one operator is said', async () => {
    const one = { ...trust, keys: trust.keys.map((key) => ({ ...key, operator: 'me' })) };
    const result = await verifyRecords({ ...run, trust: one }, recordsOf(run.entries));
    expect(result.result).toBe('valid');
    expect(result.single_operator).toBe(true);
    expect(named(result, 'information')).toEqual(['single_operator #-']);
  });
});

function signerAs(role: 'executor' | 'projector', publicKey: string) {
  const id = keyId(role, Uint8Array.from(Buffer.from(publicKey, 'hex')));
  return { id, role, operator: 'x', public_key: publicKey, status: 'active' as const, accepted_heads: [] };
}

function note(text: string) {
  return { type: 'agent_reported' as const, body: { events: [{ type: 'note' as const, text }] } };
}
