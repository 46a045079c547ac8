import {
  childRunId,
  type Draft,
  type Entry,
  type EvalRunId,
  fromHex,
  type Lesson,
  type LedgerRef,
  merkleRoot,
  NO_SPEND,
  refOf,
  toHex,
  type Verdict,
  type Vote,
} from '#lib/ledger';
import { Chain, drafts, freshEvaluation } from '../../event-log/src/fixtures.testkit.js';
import { CHECKS, VERDICT_CHECK } from './check-names.js';
import { lessonDigest } from './lesson.js';
import type { Provenance } from './extract.js';

export const RUN_REF = `ev_${'0'.repeat(32)}.0.on.1.1#3@${'a'.repeat(64)}` as LedgerRef;

/** A ref that sorts by its number. */
export function refNumbered(n: number): LedgerRef {
  return `ev_${'0'.repeat(32)}.0.on.1.1#5@${n.toString(16).padStart(64, '0')}` as LedgerRef;
}

export const PROVENANCE: Provenance = {
  evidence: [RUN_REF],
  criteria: ['tests-pass'],
  labelledBy: 'machine',
  recalled: [],
  contract: 'repair',
  case: 'c1',
  family: 'loops',
  scope: 'repair',
  model: null,
  promptDigest: null,
};

export function lessonWith(change: Partial<Lesson> = {}): Lesson {
  return {
    title: 'Look at loop bounds first',
    when: 'A test fails at the last element of a list.',
    when_not: 'The failing test concerns an empty list.',
    text: 'Most of these faults were an off-by-one in a loop condition. Try the comparison operators before anything else.',
    extractor: 'agent',
    evidence: [RUN_REF],
    criteria: ['tests-pass'],
    labelled_by: 'machine',
    model: null,
    prompt_digest: null,
    contract: 'repair',
    case: 'c1',
    family: 'loops',
    scope: 'repair',
    tokens: 60,
    trust: 'machine',
    supersedes: [],
    ...change,
  };
}

/** How a run of the tests departs from an honest one. */
export interface Script {
  readonly evaluation?: EvalRunId;
  readonly replicate?: number;
  readonly verdict?: Verdict;
  readonly lesson?: Partial<Lesson>;
  readonly digest?: string;
  readonly votes?: readonly (readonly [reviewer: string, vote: Vote])[];
  readonly quorum?: number;
  readonly gates?: readonly ('verdict' | 'checks' | 'panel')[];
  readonly failedCheck?: string;
  /** A check that is never run. */
  readonly skippedCheck?: string;
  readonly end?: 'promoted' | 'rejected' | 'neither' | 'twice' | 'both';
  readonly listedVotes?: (votes: readonly LedgerRef[]) => readonly LedgerRef[];
  readonly note?: string;
  readonly evidence?: (own: readonly LedgerRef[]) => readonly LedgerRef[];
}

export interface Ran {
  readonly lesson: LedgerRef;
  readonly chain: readonly Entry[];
  readonly anchor: Entry;
  readonly parent: readonly Entry[];
}

/** A child run, really signed, that reports one lesson and takes it through its gates; and the evaluation around it. */
export async function runWithLesson(script: Script = {}): Promise<Ran> {
  const evaluation = script.evaluation ?? freshEvaluation();
  const parent = Chain.evaluation(evaluation);
  const child = childRunId({ eval: evaluation, contract: 0, arm: 'on', replicate: script.replicate ?? 1, repeat: 1 });
  const started = await parent.next(drafts.started());
  const requested = await parent.next(drafts.requested(child));
  const ledger = Chain.child(requested);
  const chain: Entry[] = [];
  const write = async (draft: Draft): Promise<LedgerRef> => {
    const { entry } = await ledger.next(draft);
    chain.push(entry);
    return refOf(entry);
  };
  await write(drafts.runStarted(requested));
  const { title, when, when_not, text } = lessonWith(script.lesson);
  const events = [
    { type: 'note' as const, text: script.note ?? 'looking' },
    { type: 'lesson' as const, title, when, when_not, text },
  ];
  const reported = await write({ type: 'agent_reported', body: { events } });
  const result = script.verdict ?? 'pass';
  const criterion = await write({
    type: 'criterion_checked',
    body: { criterion: 'tests-pass', result, reason: 'exit code 0', output: { text: '' }, usage: NO_SPEND },
  });
  const verdict = await write({ type: 'verdict', body: { verdict: result, criteria: [criterion], reason: result } });
  const own = [reported, criterion, verdict];
  const record = lessonWith({ ...script.lesson, evidence: [...(script.evidence?.(own) ?? own)] });
  const lesson = await write({
    type: 'lesson_extracted',
    body: { lesson: record, digest: script.digest ?? lessonDigest(record) },
  });
  const checks: LedgerRef[] = [];
  for (const check of [VERDICT_CHECK, ...CHECKS]) {
    if (check === script.skippedCheck) continue;
    const gate = check === VERDICT_CHECK ? 'verdict' : 'checks';
    checks.push(
      await write({
        type: 'lesson_checked',
        body: { lesson, gate, check, passed: check !== script.failedCheck, reason: 'as told' },
      }),
    );
  }
  const votes: LedgerRef[] = [];
  for (const [reviewer, vote] of script.votes ??
    ([
      ['one', 'approve'],
      ['two', 'approve'],
      ['three', 'reject'],
    ] as const)) {
    votes.push(
      await write({ type: 'lesson_reviewed', body: { lesson, reviewer, vote, reason: vote, usage: NO_SPEND } }),
    );
  }
  const promoted: Draft = {
    type: 'lesson_promoted',
    body: {
      lesson,
      gates: [...(script.gates ?? (['verdict', 'checks', 'panel'] as const))],
      quorum: script.quorum ?? 2,
      checks,
      votes: [...(script.listedVotes?.(votes) ?? votes)],
    },
  };
  const rejected: Draft = { type: 'lesson_rejected', body: { lesson, gate: 'panel', reason: 'no quorum' } };
  const ends = {
    promoted: [promoted],
    rejected: [rejected],
    neither: [],
    twice: [promoted, promoted],
    both: [promoted, rejected],
  };
  for (const draft of ends[script.end ?? 'promoted']) await write(draft);
  await write(drafts.sealed(ledger));
  const anchor = await parent.next({
    type: 'child_anchor',
    body: {
      child_run_id: child,
      entries: chain.length,
      root_hash: toHex(merkleRoot(chain.map(({ hash }) => fromHex(hash)))) as Entry['hash'],
      head_hash: ledger.head,
      verdict: result,
      verdict_ref: verdict,
      usage: NO_SPEND,
      superseded: { count: 0, hashes: [], usage: NO_SPEND },
    },
  });
  return { lesson, chain, anchor: anchor.entry, parent: [started.entry, requested.entry, anchor.entry] };
}
