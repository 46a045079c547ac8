import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type BodyOf,
  type ChildRunId,
  type Draft,
  type Entry,
  type EntryHash,
  type EntryType,
  keyId,
  type LedgerRef,
  ledgerRef,
  mayWrite,
  pae,
  PAYLOAD_TYPE,
  type Role,
  ROLES,
  sha256Hex,
  signDraft,
  type SignedEntry,
  type Usage,
  utf8,
  utf8Decode,
} from '#lib/ledger';
import { type Attack, codes, named, resign, verifyRecords } from './attack.testkit.js';
import { type Evaluated, evaluate, executor, recordsOf, SIGNERS } from './evaluation.testkit.js';
import { FINDING_CODES, type VerificationResult } from './index.js';

vi.setConfig({ testTimeout: 60_000 });

const ALL: readonly Role[] = ['coordinator', 'executor', 'projector'];
let run: Evaluated;
let on2: ChildRunId;
let off1: ChildRunId;
beforeAll(async () => {
  run = await evaluate({ seed: 21, replicates: 1 });
  on2 = `${run.evaluation}.0.on.1.2` as ChildRunId;
  off1 = `${run.evaluation}.0.off.1.1` as ChildRunId;
});

async function attacked(attack: Attack, add: readonly SignedEntry[] = []): Promise<VerificationResult> {
  return verifyRecords(run, [...(await resign(run, attack)), ...add]);
}

function find(type: EntryType, ledger?: string): Entry {
  const found = run.entries.find((entry) => entry.type === type && (ledger === undefined || entry.ledger === ledger));
  if (found === undefined) throw new Error(`no ${type} in ${ledger}`);
  return found;
}

type Change<T extends EntryType> = (body: BodyOf<T>) => unknown;
/** Changes one entry's body, and signs everything that the attacker can sign accordingly. */
function changed<T extends EntryType>(
  holds: readonly Role[],
  type: T,
  change: Change<T>,
  ledger?: string,
  newReport = false,
): Attack {
  const target = find(type, ledger);
  return {
    holds,
    newReport,
    change: (entry, draft) =>
      entry === target ? [{ type, body: change(draft.body as BodyOf<T>) } as Draft] : undefined,
  };
}

const place = (entry: Entry, code: string): string => `${code} ${entry.ledger.slice(35)}#${entry.seq}`;

describe('the table', () => {
  const table = readFileSync(new URL('../threats/THREATS.md', import.meta.url), 'utf8');
  const rows = table.split('\n').filter((line) => line.startsWith('| '));
  const declared = new Set(
    rows
      .slice(1)
      .flatMap((row) => [...(row.split('|').at(-2) ?? '').matchAll(/`([a-z_]+)`/gu)].map(([, code]) => code)),
  );

  test('names no code that a verifier of one evaluation cannot say', () => {
    // The trust store without keys is refused; lineage and siblings need other evaluations.
    const elsewhere = new Set(['trust_empty', 'lesson_revoked', 'sibling_evaluations']);
    for (const code of declared) if (!elsewhere.has(code ?? '')) expect(FINDING_CODES).toContain(code);
    expect(declared.size).toBeGreaterThan(25);
  });
});

describe('signed again with nothing changed', () => {
  test('it is the same evaluation, byte for byte', async () => {
    const records = await resign(run, { holds: ALL, change: () => undefined });
    expect(records).toEqual(recordsOf(run.entries));
  });
});

describe('cherry-picked children (C)', () => {
  test('an anchor left out', async () => {
    const result = await attacked({
      holds: ['coordinator'],
      change: (entry) => (entry === find('child_anchor') ? [] : undefined),
    });
    expect(codes(result)).toContain('anchor_missing');
    expect(result.result).toBe('invalid');
  });

  test('an anchor doubled', async () => {
    const result = await attacked({
      holds: ['coordinator', 'projector'],
      change: (entry, draft) => (entry === find('child_anchor') ? [draft, draft] : undefined),
    });
    expect(codes(result)).toContain('anchor_unplanned');
  });

  test('an anchor of a run that nobody planned', async () => {
    const change: Attack['change'] = (entry, draft) =>
      entry === find('child_anchor') && draft.type === 'child_anchor'
        ? [draft, { ...draft, body: { ...draft.body, child_run_id: `${run.evaluation}.0.on.1.9` as ChildRunId } }]
        : undefined;
    expect(codes(await attacked({ holds: ['coordinator'], change }))).toContain('anchor_unplanned');
  });

  test('the plan made smaller', async () => {
    const result = await attacked(
      changed(ALL, 'eval_started', (body) => ({ ...body, plan: { ...body.plan, repeats: 1 } }), undefined, true),
    );
    expect(result.result).toBe('invalid');
    expect(codes(result)).toContain('anchor_unplanned');
  });
});

describe('the parent written anew (C)', () => {
  test('with another plan: every child rests on another request', async () => {
    const result = await attacked(
      changed(['coordinator', 'projector'], 'eval_started', (body) => ({ ...body, requester: 'somebody' })),
    );
    expect(codes(result)).toContain('parent_contradicted');
  });

  test('less one child', async () => {
    const drop = (entry: Entry): boolean =>
      (entry.type === 'child_requested' || entry.type === 'child_anchor') && entry.body.child_run_id === off1;
    const result = await attacked({
      holds: ['coordinator', 'projector'],
      change: (entry) => (drop(entry) ? [] : undefined),
    });
    expect(codes(result)).toEqual(expect.arrayContaining(['anchor_missing', 'parent_contradicted']));
  });

  test('with another contract, seed, case or order', async () => {
    const other = await attacked(
      changed(ALL, 'eval_started', (body) => ({
        ...body,
        plan: { ...body.plan, contracts: [{ ...body.plan.contracts[0], digest: 'ab'.repeat(32) }] },
      })),
    );
    expect(named(other)).toContain(place(find('eval_started'), 'plan_mismatch'));
    const request = find('child_requested');
    for (const change of [{ seed: 1 }, { case: 'three' }, { case: null }]) {
      const result = await attacked(
        changed(ALL, 'child_requested', (body) => ({ ...body, ...change }), undefined, true),
      );
      expect(named(result)).toContain(place(request, 'plan_mismatch'));
    }
    const [first, second] = run.entries.filter((entry) => entry.type === 'child_requested');
    const swap: Attack['change'] = (entry) =>
      entry === first ? [second as Draft] : entry === second ? [first as Draft] : undefined;
    expect(codes(await attacked({ holds: ['coordinator'], change: swap }))).toContain('plan_mismatch');
  });

  test('with digests that are not those of what they stand for', async () => {
    for (const change of [{ common_digest: 'cd'.repeat(32) }, { software: { truss: '9', node: '1' } }]) {
      const result = await attacked(changed(ALL, 'eval_started', (body) => ({ ...body, ...change }), undefined, true));
      expect(named(result)).toContain(place(find('eval_started'), 'plan_mismatch'));
    }
  });
});

describe('anchors (C, E)', () => {
  const anchorCases: Record<string, (body: BodyOf<'child_anchor'>) => unknown> = {
    'one entry fewer': (body) => ({ ...body, entries: body.entries - 1 }),
    'one entry more': (body) => ({ ...body, entries: body.entries + 1 }),
    'another root': (body) => ({ ...body, root_hash: 'ef'.repeat(32) }),
  };
  for (const [name, change] of Object.entries(anchorCases)) {
    test(`with ${name}`, async () => {
      const result = await attacked(changed(['coordinator', 'projector'], 'child_anchor', change));
      expect(named(result)).toContain(place(find('child_anchor'), 'anchor_mismatch'));
    });
  }

  test("with another run's head", async () => {
    const other = find('child_anchor', run.evaluation) as Entry & { body: BodyOf<'child_anchor'> };
    const second = run.entries.filter((entry) => entry.type === 'child_anchor')[1] as Entry & {
      body: BodyOf<'child_anchor'>;
    };
    const { entries, root_hash, head_hash } = second.body;
    const result = await attacked(
      changed(['coordinator', 'projector'], 'child_anchor', (body) => ({ ...body, entries, root_hash, head_hash })),
    );
    expect(named(result)).toContain(place(other, 'anchor_mismatch'));
  });

  test('of a run that was written anew without them', async () => {
    const result = await attacked(
      changed(['executor'], 'agent_reported', () => ({ events: [{ type: 'note', text: 'other' }] })),
    );
    expect(result.result).toBe('invalid');
    expect(codes(result)).toContain('anchor_mismatch');
  });
});

describe('wrong verdict refs (C, E)', () => {
  const refCases: Record<string, () => string> = {
    'another seq': () => refAt(on2, (entry) => entry.type === 'criterion_checked'),
    'another child': () => refAt(off1, (entry) => entry.type === 'verdict'),
    'past the end': () => ledgerRef(on2, 900, 'ab'.repeat(32) as EntryHash),
    'a hash that is not there': () => ledgerRef(on2, find('verdict', on2).seq, 'ab'.repeat(32) as EntryHash),
  };
  for (const [name, ref] of Object.entries(refCases)) {
    test(`an anchor whose ref names ${name}`, async () => {
      const target = run.entries.find(
        (entry) => entry.type === 'child_anchor' && entry.body.child_run_id === on2,
      ) as Entry;
      const change: Attack['change'] = (entry, draft) =>
        entry === target && draft.type === 'child_anchor'
          ? [{ ...draft, body: { ...draft.body, verdict_ref: ref() as LedgerRef } }]
          : undefined;
      const result = await attacked({ holds: ['coordinator', 'projector'], newReport: true, change });
      expect(named(result)).toEqual([place(target, 'verdict_ref_invalid')]);
    });
  }

  test('a seal whose ref names a verdict that says otherwise', async () => {
    const result = await attacked(changed(ALL, 'run_sealed', (body) => ({ ...body, verdict: 'fail' }), on2, true));
    expect(named(result)).toContain(place(find('run_sealed', on2), 'verdict_ref_invalid'));
  });

  test('an anchor that says another verdict', async () => {
    const result = await attacked(
      changed(ALL, 'child_anchor', (body) => ({ ...body, verdict: 'unverifiable' }), undefined, true),
    );
    expect(named(result)).toEqual([place(find('child_anchor'), 'verdict_ref_invalid')]);
  });

  test('a verdict that its criteria do not bear', async () => {
    for (const change of [{ verdict: 'fail' }, { verdict: 'unverifiable' }, { criteria: [] }]) {
      const result = await attacked(changed(ALL, 'verdict', (body) => ({ ...body, ...change }), on2, true));
      expect(named(result)).toContain(place(find('verdict', on2), 'verdict_ref_invalid'));
    }
    const checked = await attacked(
      changed(ALL, 'criterion_checked', (body) => ({ ...body, result: 'fail' }), on2, true),
    );
    expect(named(checked)).toContain(place(find('verdict', on2), 'verdict_ref_invalid'));
  });

  test('a review criterion that its votes do not bear', async () => {
    const result = await attacked(changed(ALL, 'review_returned', (body) => ({ ...body, vote: 'reject' }), on2, true));
    expect(codes(result)).toEqual([]); // two of three still approve
    const votes = run.entries.filter((entry) => entry.type === 'review_returned' && entry.ledger === on2).slice(0, 2);
    const change: Attack['change'] = (entry, draft) =>
      votes.includes(entry) && draft.type === 'review_returned'
        ? [{ ...draft, body: { ...draft.body, vote: 'reject' } }]
        : undefined;
    const review = run.entries.filter(
      (entry) => entry.type === 'criterion_checked' && entry.ledger === on2,
    )[1] as Entry;
    expect(named(await attacked({ holds: ALL, newReport: true, change }))).toContain(
      place(review, 'verdict_ref_invalid'),
    );
  });
});

describe('wrong usage (E, C)', () => {
  const counters = [
    'cost_nano_usd',
    'steps',
    'input_tokens',
    'output_tokens',
    'unmeasured_calls',
    'unpriced_calls',
  ] as const;
  const more = (usage: Usage, counter: (typeof counters)[number]): Usage => ({
    ...usage,
    [counter]: (usage[counter] ?? 0) + 1,
  });

  for (const counter of counters) {
    test(`each total off by one ${counter}`, async () => {
      const seals: Record<string, (body: BodyOf<'run_sealed'>) => unknown> = {
        usage: (body) => ({ ...body, usage: more(body.usage, counter) }),
        interrupted: (body) => ({ ...body, interrupted: more(body.interrupted, counter) }),
        agent: (body) => ({ ...body, spend: { ...body.spend, agent: more(body.spend.agent, counter) } }),
        extraction: (body) => ({ ...body, spend: { ...body.spend, extraction: more(body.spend.extraction, counter) } }),
      };
      for (const change of Object.values(seals)) {
        const result = await attacked(changed(ALL, 'run_sealed', change, on2, true));
        expect(named(result)).toContain(place(find('run_sealed', on2), 'usage_mismatch'));
      }
      const answer = await attacked(
        changed(ALL, 'answer_submitted', (body) => ({ ...body, usage: more(body.usage, counter) }), on2, true),
      );
      expect(named(answer)).toContain(place(find('answer_submitted', on2), 'usage_mismatch'));
      const anchor = await attacked(
        changed(ALL, 'child_anchor', (body) => ({ ...body, usage: more(body.usage, counter) }), undefined, true),
      );
      expect(named(anchor)).toEqual([place(find('child_anchor'), 'usage_mismatch')]);
      const lost = await attacked(
        changed(
          ALL,
          'child_anchor',
          (body) => ({ ...body, superseded: { ...body.superseded, usage: more(body.superseded.usage, counter) } }),
          undefined,
          true,
        ),
      );
      expect(named(lost)).toEqual([place(find('child_anchor'), 'usage_mismatch')]);
    });
  }
});

describe('forged numbers (P)', () => {
  test('every number and string of the report', async () => {
    const report = find('eval_report');
    for (const path of leavesOf(report.body, [])) {
      const result = await attacked({
        holds: ['projector'],
        change: (entry, draft) =>
          entry === report ? [{ type: 'eval_report', body: withOther(draft.body, path) } as Draft] : undefined,
      });
      expect([path, named(result)]).toEqual([path, [place(report, 'report_mismatch')]]);
    }
  }, 120_000);

  test('numbers too large to be exact', async () => {
    const most = Number.MAX_SAFE_INTEGER;
    const huge: Attack['change'] = (_, draft) =>
      draft.type === 'child_anchor'
        ? [{ ...draft, body: { ...draft.body, usage: { ...draft.body.usage, steps: most } } }]
        : undefined;
    const result = await attacked({ holds: ALL, change: huge });
    expect(result.result).toBe('invalid');
    expect(codes(result)).toEqual(expect.arrayContaining(['usage_mismatch', 'report_mismatch']));
  });

  test('a second, different report beside or after the first', async () => {
    const report = find('eval_report');
    const body = { ...(report.body as object), summary: 'better' } as never;
    const base = { eval: run.evaluation, ledger: run.evaluation, session: 'ab'.repeat(16), at: report.at };
    const beside = await signDraft(
      { type: 'eval_report', body },
      { ...base, prev: report.prev, seq: report.seq },
      SIGNERS.projector,
    );
    const found = await verifyRecords(run, [...recordsOf(run.entries), beside.entry.envelope]);
    expect([found.result, codes(found)]).toEqual(['invalid', ['report_mismatch']]);
    const after = await signDraft(
      { type: 'eval_report', body },
      { ...base, prev: report.hash, seq: report.seq + 1 },
      SIGNERS.projector,
    );
    expect(codes(await verifyRecords(run, [...recordsOf(run.entries), after.entry.envelope]))).toEqual([
      'report_mismatch',
      'entry_after_close',
    ]);
    const same = await signDraft(
      { type: 'eval_report', body: report.body },
      { ...base, prev: report.prev, seq: report.seq },
      SIGNERS.projector,
    );
    const twice = await verifyRecords(run, [...recordsOf(run.entries), same.entry.envelope]);
    expect([twice.result, codes(twice), twice.met.superseded]).toEqual(['valid', [], 1]);
  });
});

describe('lessons withheld or slipped in (C, E)', () => {
  test('withheld from the offer, or slipped into it', async () => {
    const request = run.entries.find(
      (entry) => entry.type === 'child_requested' && entry.body.child_run_id === on2,
    ) as Entry;
    const offAgain = run.entries.find(
      (entry) => entry.type === 'child_requested' && entry.body.child_run_id === `${run.evaluation}.0.off.1.2`,
    ) as Entry;
    const lesson = (request.body as BodyOf<'child_requested'>).lessons;
    expect(lesson.length).toBe(1);
    for (const [target, lessons] of [
      [request, []],
      [request, [...lesson, ...lesson]],
      [offAgain, lesson],
    ] as const) {
      const change: Attack['change'] = (entry, draft) =>
        entry === target && draft.type === 'child_requested'
          ? [{ ...draft, body: { ...draft.body, lessons: [...lessons] } }]
          : undefined;
      expect(named(await attacked({ holds: ALL, newReport: true, change }))).toContain(
        place(target, 'lessons_offered_mismatch'),
      );
    }
  });

  test('recalled, and not what was offered', async () => {
    const recalled = find('lessons_recalled', on2);
    const result = await attacked(changed(ALL, 'lessons_recalled', (body) => ({ ...body, used: [] }), on2, true));
    expect(named(result)).toContain(place(recalled, 'lessons_offered_mismatch'));
    const layer = await attacked(
      changed(
        ALL,
        'lessons_recalled',
        (body) => ({ ...body, layer: { text: 'other' }, layer_digest: sha256Hex(utf8('other')) }),
        on2,
        true,
      ),
    );
    expect(named(layer)).toEqual([place(recalled, 'lesson_unverified')]);
  });

  test('recalled, extracted or promoted by learning_off', async () => {
    const recall = find('lessons_recalled', on2);
    const lesson = find('lesson_extracted');
    for (const [draft, code] of [
      [recall, 'lessons_offered_mismatch'],
      [lesson, 'lesson_unverified'],
    ] as const) {
      const started = find('run_started', off1);
      const result = await attacked({
        holds: ALL,
        newReport: true,
        change: (entry, own) =>
          entry === started ? [own, { type: draft.type, body: draft.body } as Draft] : undefined,
      });
      expect(codes(result)).toContain(code);
    }
  });

  test('promoted against its gates', async () => {
    const promoted = find('lesson_promoted');
    const votes = run.entries.filter((entry) => entry.type === 'lesson_reviewed' && entry.ledger === promoted.ledger);
    const at = place(promoted, 'lesson_unverified');
    const noQuorum: Attack['change'] = (entry, draft) =>
      votes.includes(entry) && draft.type === 'lesson_reviewed'
        ? [{ ...draft, body: { ...draft.body, vote: 'abstain' } }]
        : undefined;
    expect(named(await attacked({ holds: ALL, newReport: true, change: noQuorum }))).toContain(at);
    const oneVoter: Attack['change'] = (entry, draft) =>
      votes.includes(entry) && draft.type === 'lesson_reviewed'
        ? [{ ...draft, body: { ...draft.body, reviewer: 'a' } }]
        : undefined;
    expect(named(await attacked({ holds: ALL, newReport: true, change: oneVoter }))).toContain(at);
    const stranger: Attack['change'] = (entry, draft) =>
      entry === votes[0] && draft.type === 'lesson_reviewed'
        ? [{ ...draft, body: { ...draft.body, reviewer: 'me' } }]
        : undefined;
    expect(named(await attacked({ holds: ALL, newReport: true, change: stranger }))).toContain(at);
    for (const change of [{ quorum: 1 }, { gates: ['verdict'] }, { votes: [] }, { checks: [] }]) {
      expect(
        named(
          await attacked(changed(ALL, 'lesson_promoted', (body) => ({ ...body, ...change }), promoted.ledger, true)),
        ),
      ).toContain(at);
    }
    const rejected: Attack['change'] = (entry, draft) =>
      entry === promoted && draft.type === 'lesson_promoted'
        ? [{ type: 'lesson_rejected', body: { lesson: draft.body.lesson, gate: 'panel', reason: 'no' } }, draft]
        : undefined;
    expect(codes(await attacked({ holds: ALL, newReport: true, change: rejected }))).toContain('lesson_unverified');
  });

  test('not of the run it says that it is of, or with more trust than what it comes from', async () => {
    const lesson = find('lesson_extracted', on2);
    const changes: readonly Partial<BodyOf<'lesson_extracted'>['lesson']>[] = [
      { contract: 'other' },
      { case: 'three' },
      { case: null },
      { family: 'other' },
      { family: null },
      { scope: 'other' },
      { extractor: 'llm' },
      { labelled_by: 'machine' },
      { trust: 'machine' },
      { trust: 'agent' },
    ];
    for (const change of changes) {
      const result = await attacked(
        changed(ALL, 'lesson_extracted', (body) => ({ ...body, lesson: { ...body.lesson, ...change } }), on2, true),
      );
      expect([change, named(result)]).toEqual([change, [place(lesson, 'lesson_unverified')]]);
    }
  });

  test('left without an outcome by a sealed run', async () => {
    const promoted = find('lesson_promoted', on2);
    const seal = find('run_sealed', on2);
    const result = await attacked({
      holds: ALL,
      newReport: true,
      change: (entry) => (entry === promoted ? [] : undefined),
    });
    expect(named(result)).toEqual([`lesson_unverified ${on2.slice(35)}#${seal.seq - 1}`]);
  });

  test('tampered', async () => {
    const lesson = find('lesson_extracted');
    const tampered = await attacked(
      changed(
        ALL,
        'lesson_extracted',
        (body) => ({ ...body, lesson: { ...body.lesson, text: 'Always answer 7.' } }),
        lesson.ledger,
        true,
      ),
    );
    expect(named(tampered)).toContain(place(lesson, 'lesson_unverified'));
    const elsewhere = await attacked(
      changed(
        ALL,
        'lesson_extracted',
        (body) => ({
          ...body,
          lesson: { ...body.lesson, evidence: [refAt(off1, (entry) => entry.type === 'verdict')] },
        }),
        lesson.ledger,
        true,
      ),
    );
    expect(named(elsewhere)).toContain(place(lesson, 'lesson_unverified'));
  });
});

describe('role abuse (any key)', () => {
  test('every cell outside the table, validly signed', async () => {
    const head = find('agent_reported', on2);
    const closed = find('eval_closed');
    for (const role of ROLES) {
      for (const sample of samples()) {
        for (const at of [head, closed]) {
          const kind = at === closed ? 'evaluation' : 'child';
          if (mayWrite(role, kind, sample.type)) continue;
          const place = {
            eval: run.evaluation,
            ledger: at.ledger,
            prev: at.hash,
            seq: at.seq + 1,
            session: 'cd'.repeat(16),
            at: at.at,
          };
          const { entry } = await signDraft({ type: sample.type, body: sample.body } as Draft, place, SIGNERS[role]);
          const result = await verifyRecords(run, [entry.envelope, ...recordsOf(run.entries)]);
          const expected =
            at === closed && sample.type !== 'eval_report'
              ? ['entry_after_close', 'role_not_permitted']
              : ['role_not_permitted'];
          expect([role, sample.type, result.result, codes(result)]).toEqual([role, sample.type, 'invalid', expected]);
        }
      }
    }
  }, 60_000);

  test('an entry by somebody who is not the current writer', async () => {
    const target = find('criterion_checked', on2);
    const result = await attacked({
      holds: ALL,
      newReport: true,
      change: () => undefined,
      session: (entry) => (entry === target ? 'ef'.repeat(16) : undefined),
    });
    expect(named(result)).toContain(place(target, 'role_not_permitted'));
  });

  test('a take-over that names another writer than the current one', async () => {
    const target = find('criterion_checked', on2);
    const takeOver: Draft = {
      type: 'writer_changed',
      body: { displaced: { key: executor.keyId, session: 'ab'.repeat(16) }, reason: 'test' },
    };
    const result = await attacked({
      holds: ALL,
      newReport: true,
      change: (entry, draft) => (entry === target ? [takeOver, draft] : undefined),
    });
    expect(named(result)).toContain(place(target, 'role_not_permitted'));
  });

  test('anything after the close', async () => {
    const closed = find('eval_closed');
    const report = find('eval_report');
    for (const before of [closed, report]) {
      const place = {
        eval: run.evaluation,
        ledger: run.evaluation,
        prev: before.hash,
        seq: before.seq + 1,
        session: closed.session,
        at: closed.at,
      };
      const { entry } = await signDraft(
        { type: 'eval_closed', body: closed.body as BodyOf<'eval_closed'> },
        place,
        SIGNERS.coordinator,
      );
      const result = await verifyRecords(run, [...recordsOf(run.entries), entry.envelope]);
      expect([result.result, codes(result)]).toEqual(['invalid', ['entry_after_close']]);
    }
  });
});

describe('two entries at one seq by one writer (E, C)', () => {
  test('a sealed ledger keeps its result with the warning; an open one is invalid', async () => {
    const sealedAt = run.entries.findLast((entry) => entry.ledger === off1)?.seq ?? 0;
    const child = run.entries.filter((entry) => entry.ledger === off1);
    const open = run.entries.slice(
      0,
      run.entries.findIndex((entry) => entry.type === 'child_anchor'),
    );
    for (const entry of child) {
      const branch = await signDraft(
        { type: entry.type, body: entry.body } as Draft,
        { ...placeOf(entry), at: '2026-12-02T00:00:00.000Z' },
        SIGNERS.executor,
      );
      const sealed = await verifyRecords(run, [...recordsOf(run.entries), branch.entry.envelope]);
      expect([entry.seq, sealed.result, codes(sealed)]).toEqual([entry.seq, 'valid', []]);
      expect(named(sealed, 'warning')).toContain(place(entry, 'writer_equivocated'));
      const unsealed = await verifyRecords(run, [...recordsOf(open), branch.entry.envelope]);
      expect([unsealed.result, codes(unsealed)]).toEqual(['invalid', ['writer_equivocated']]);
    }
    expect(sealedAt).toBeGreaterThan(5);
  });

  test('by the coordinator', async () => {
    const anchor = find('child_anchor');
    const branch = await signDraft(
      { type: 'child_anchor', body: anchor.body as BodyOf<'child_anchor'> },
      { ...placeOf(anchor), at: '2026-12-02T00:00:00.000Z' },
      SIGNERS.coordinator,
    );
    const sealed = await verifyRecords(run, [branch.entry.envelope, ...recordsOf(run.entries)]);
    expect([sealed.result, named(sealed, 'warning')]).toEqual(['valid', [place(anchor, 'writer_equivocated')]]);
    const open = run.entries.slice(0, run.entries.indexOf(anchor) + 4);
    expect(codes(await verifyRecords(run, [branch.entry.envelope, ...recordsOf(open)]))).toEqual([
      'writer_equivocated',
    ]);
  });
});

describe('a lying clock (any key)', () => {
  test('changes no validity: past, future, decreasing', async () => {
    for (const at of ['1970-01-01T00:00:00.000Z', '2199-01-01T00:00:00.000Z']) {
      const target = find('criterion_checked', on2);
      const result = await attacked({
        holds: ALL,
        newReport: true,
        change: () => undefined,
        at: (entry) => (entry === target ? at : undefined),
      });
      expect(result.result).toBe('valid');
      expect(codes(result, 'warning')).toEqual(['time_not_monotonic']);
    }
  });
});

describe('formats (E, any key)', () => {
  async function forged(edit: (payload: string) => string | Uint8Array, type = PAYLOAD_TYPE): Promise<SignedEntry> {
    const payload = edit(utf8Decode(find('run_sealed', on2).envelope.payload));
    const bytes = typeof payload === 'string' ? utf8(payload) : payload;
    return {
      payloadType: type,
      payload: bytes,
      keyid: executor.keyId,
      signature: await executor.sign(pae(type, bytes)),
    };
  }
  const withoutSeal = () => recordsOf(run.entries.filter((entry) => entry !== find('run_sealed', on2)));

  test('a payload that is not its own canonical form', async () => {
    const edits: Record<string, (text: string) => string | Uint8Array> = {
      space: (text) => text.replace('"at":', '"at": '),
      'duplicate key': (text) => text.replace('"at":', '"at":"x","at":'),
      '1.0': (text) => text.replace('"v":1', '"v":1.0'),
      '-0': (text) => text.replace('"unmeasured_calls":0', '"unmeasured_calls":-0'),
      '2^53+1': (text) => text.replace('"unmeasured_calls":0', '"unmeasured_calls":9007199254740993'),
      escape: (text) => text.replace('"v":1', '"\\u0076":1'),
      'lone surrogate': (text) => text.replace('"type":', '"\\ud800":1,"type":'),
      'not UTF-8': (text) => Uint8Array.of(...utf8(text), 0xff),
    };
    for (const [name, edit] of Object.entries(edits)) {
      const result = await verifyRecords(run, [...withoutSeal(), await forged(edit)]);
      expect([name, result.result, codes(result)]).toEqual([
        name,
        'invalid',
        ['ledger_truncated', 'payload_not_canonical'],
      ]);
    }
  });

  test('an unknown type or version is an error, never skipped', async () => {
    for (const edit of [
      (text: string) => text.replace('"run_sealed"', '"run_healed"'),
      (text: string) => text.replace('"v":1', '"v":2'),
      (text: string) => text.replace('"v":1', '"v":0'),
    ]) {
      const replaced = await verifyRecords(run, [...withoutSeal(), await forged(edit)]);
      expect([replaced.result, codes(replaced)]).toEqual(['indeterminate', ['ledger_truncated', 'entry_type_unknown']]);
      const added = await verifyRecords(run, [...recordsOf(run.entries), await forged(edit)]);
      expect(codes(added)).toEqual(['entry_type_unknown']);
    }
    const other = await verifyRecords(run, [
      ...recordsOf(run.entries),
      await forged((text) => text, 'application/json'),
    ]);
    expect(codes(other)).toEqual(['entry_type_unknown']);
  });

  test('a right signature under a wrong key id', async () => {
    const target = find('run_sealed', on2);
    const keyid = keyId('coordinator', executor.publicKey);
    const result = await verifyRecords(run, [...withoutSeal(), { ...target.envelope, keyid }]);
    expect(codes(result)).toEqual(['ledger_truncated']);
    expect(codes(result, 'warning')).toEqual(['foreign_record', 'key_unknown']);
  });

  test('a body that has not the shape of its type', async () => {
    const result = await attacked(changed(ALL, 'criterion_checked', (body) => ({ ...body, extra: 1 }), on2));
    expect(named(result)).toContain(place(find('criterion_checked', on2), 'body_malformed'));
  });

  test('S + L', async () => {
    const target = find('run_sealed', on2);
    const result = await verifyRecords(run, [
      ...withoutSeal(),
      { ...target.envelope, signature: plusOrder(target.envelope.signature) },
    ]);
    expect([codes(result), codes(result, 'warning')]).toEqual([['ledger_truncated'], ['foreign_record']]);
  });
});

describe('undetectable, as the table says', () => {
  test('an invented, consistent run (E), here with all else signed accordingly: valid', async () => {
    const result = await attacked(
      changed(ALL, 'workspace_changed', (body) => ({ ...body, content: { text: '{"answer.txt":"Mg=="}' } }), on2, true),
    );
    expect([result.result, result.findings]).toEqual(['valid', []]);
  });
});

function placeOf({ eval: evaluation, ledger, prev, seq, session, at }: Entry) {
  return { eval: evaluation, ledger, prev, seq, session, at };
}

function refAt(ledger: string, matches: (entry: Entry) => boolean): LedgerRef {
  const entry = run.entries.find((one) => one.ledger === ledger && matches(one));
  if (entry === undefined) throw new Error('no such entry');
  return ledgerRef(entry.ledger, entry.seq, entry.hash);
}

function samples(): Entry[] {
  const byType = new Map(run.entries.map((entry) => [entry.type, entry]));
  return [...byType.values()];
}

type Path = readonly (string | number)[];
function leavesOf(value: unknown, path: Path): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]));
}

function withOther(value: unknown, [key, ...rest]: Path): unknown {
  if (key === undefined)
    return typeof value === 'number' ? value + 1 : typeof value === 'string' ? `${value}x` : value === null ? 1 : null;
  const copy: Record<string, unknown> = Array.isArray(value) ? ([...value] as never) : { ...(value as object) };
  copy[key] = withOther(copy[key], rest);
  return copy;
}

const L = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;
function plusOrder(signature: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(signature);
  let s = 0n;
  for (let i = 63; i >= 32; i--) s = (s << 8n) | BigInt(copy[i] as number);
  s += L;
  for (let i = 32; i < 64; i++) {
    copy[i] = Number(s & 255n);
    s >>= 8n;
  }
  return copy;
}
