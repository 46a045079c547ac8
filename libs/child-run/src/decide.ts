import type { Criterion, Learning, Panel, Reviewer } from '#lib/contract';
import { childUsage, type ChildState, type LessonState } from '#lib/evaluation';
import { type Draft, NO_SPEND, type Verdict } from '#lib/ledger';
import { decidePromotion, type Gate, verdictGate } from '#lib/lessons';
import type { RunContext } from './actions.js';
import {
  ABOUT_LESSON,
  act,
  lessonSubject,
  record,
  type Step,
  towardsCall,
  towardsReply,
  towardsVote,
} from './decide-calls.js';
import { taskDigest } from './task.js';

export type { Step } from './decide-calls.js';

/**
 * The next step of a child run, given what its ledger says: a pure function, so a run that was cut short goes on at the
 * same step wherever it is taken up again. `extracted`: this session has already looked for lessons.
 */
export function decideRun(child: ChildState, run: RunContext, extracted: boolean): Step {
  if (child.sealed !== null) return { kind: 'sealed' };
  if (!child.started) return record(startDraft(run));
  if (run.arm.memory.recall === 'verified' && child.recalled === null) return act({ kind: 'recall' });
  if (child.verdict === null)
    return child.broken === null ? towardsVerdict(child, run) : record(verdictDraft(child, run));
  if (run.arm.memory.extraction === 'on' && run.contract.learning !== null) {
    if (!extracted) return towardsLessons(child, run.contract.learning) ?? act({ kind: 'extract' });
    const open = child.lessons.find((lesson) => lesson.outcome === 'open');
    if (open !== undefined && run.arm.memory.promotion === 'eager') return towardsPromotion(child, open, run);
  }
  return record(sealDraft(child));
}

function startDraft(run: RunContext): Draft {
  const { budget } = run.contract;
  return {
    type: 'run_started',
    body: {
      request: run.request.ref,
      contract_digest: run.contractDigest as Extract<Draft, { type: 'run_started' }>['body']['contract_digest'],
      budget,
      executor: run.software,
    },
  };
}

function towardsVerdict(child: ChildState, run: RunContext): Step {
  if (child.answer === null) {
    if (run.rendered.agent.kind === 'llm') return towardsReply(child, run.rendered.agent);
    // The intent is recorded before a program starts that may spend; a constant answer spends nothing.
    const intends = run.rendered.agent.kind !== 'fixed';
    if (intends && !child.events.some((event) => event.type === 'started')) {
      return record({ type: 'agent_reported', body: { events: [{ type: 'started', context: taskDigest(run) }] } });
    }
    return act({ kind: 'agent' });
  }
  for (const criterion of run.rendered.criteria) {
    if (child.criteria.has(criterion.id)) continue;
    if (criterion.kind !== 'review') return act({ kind: 'check', criterion: criterion.id });
    return towardsReview(child, criterion, run.contract.panel);
  }
  return record(verdictDraft(child, run));
}

function towardsReview(
  child: ChildState,
  criterion: Extract<Criterion, { kind: 'review' }>,
  panel: Panel | null,
): Step {
  const reviewers = panel?.reviewers ?? [];
  const returned = child.reviews.filter((review) => review.criterion === criterion.id);
  const next = reviewers.find((reviewer) => !returned.some((review) => review.reviewer === reviewer.name));
  if (next !== undefined) {
    return towardsVote(child, next, criterion.id, criterion.question, {
      kind: 'review',
      criterion: criterion.id,
      reviewer: next.name,
    });
  }
  const quorum = panel?.quorum ?? 1;
  const approvals = returned.filter((review) => review.vote === 'approve').length;
  const rejections = returned.filter((review) => review.vote === 'reject').length;
  const tally = `${approvals} approve, ${rejections} reject, ${returned.length - approvals - rejections} abstain; quorum ${quorum}`;
  return record({
    type: 'criterion_checked',
    body: {
      criterion: criterion.id,
      result: reviewResult(approvals, rejections, quorum),
      reason: tally,
      output: { text: '' },
      usage: NO_SPEND,
    },
  });
}

/** Both sides at quorum settle nothing. */
export function reviewResult(approvals: number, rejections: number, quorum: number): Verdict {
  if (approvals >= quorum && rejections < quorum) return 'pass';
  if (rejections >= quorum && approvals < quorum) return 'fail';
  return 'unverifiable';
}

function verdictDraft(child: ChildState, run: RunContext): Draft {
  const checked = run.rendered.criteria.map((criterion) => ({
    id: criterion.id,
    state: child.criteria.get(criterion.id),
  }));
  const of = (result: Verdict) => checked.filter(({ state }) => state?.result === result).map(({ id }) => id);
  const failed = of('fail');
  const undecided = checked
    .filter(({ state }) => state === undefined || state.result === 'unverifiable')
    .map(({ id }) => id);
  let verdict: Verdict = 'pass';
  let reason = 'every criterion passed';
  if (failed.length > 0) [verdict, reason] = ['fail', `failed: ${failed.join(', ')}`];
  else if (child.broken !== null)
    [verdict, reason] = ['unverifiable', `${child.broken.where}: ${child.broken.message}`];
  else if (undecided.length > 0) [verdict, reason] = ['unverifiable', `could not be decided: ${undecided.join(', ')}`];
  const criteria = checked.flatMap(({ state }) => (state === undefined ? [] : [state.ref]));
  return { type: 'verdict', body: { verdict, criteria, reason } };
}

/** The call in which a model writes lessons; `null` where none is to be made, or it was answered. */
function towardsLessons(child: ChildState, learning: Learning): Step | null {
  if (learning.extractor !== 'llm' || child.noExtraction || child.verdict === null) return null;
  const { verdict, ref } = child.verdict;
  // What the first gate refuses for certain is not paid for.
  if (verdict === 'unverifiable' || (verdict === 'fail' && learning.gates.includes('verdict'))) return null;
  return towardsCall(child, { purpose: 'extraction', subject: ref, reviewer: null });
}

function towardsPromotion(child: ChildState, lesson: LessonState, run: RunContext): Step {
  const gates = run.contract.learning?.gates ?? [];
  const panel = run.contract.panel;
  const quorum = panel?.quorum ?? 0;
  const reviewers = panel?.reviewers ?? [];
  const next = decidePromotion(gates, {
    checks: lesson.checks,
    votes: lesson.votes,
    quorum,
    reviewers: reviewers.length,
  });
  switch (next.kind) {
    case 'next':
      return throughGate(next.gate, child, lesson, reviewers);
    case 'promoted':
      return record({
        type: 'lesson_promoted',
        body: {
          lesson: lesson.ref,
          gates: [...gates],
          quorum,
          checks: lesson.checks.map((check) => check.ref),
          votes: lesson.votes.map((vote) => vote.ref),
        },
      });
    case 'rejected':
      return record({ type: 'lesson_rejected', body: { lesson: lesson.ref, gate: next.gate, reason: next.reason } });
    default:
      return next satisfies never;
  }
}

function throughGate(gate: Gate, child: ChildState, lesson: LessonState, reviewers: readonly Reviewer[]): Step {
  switch (gate) {
    case 'verdict': {
      const result = verdictGate({ verdict: child.verdict?.verdict ?? 'unverifiable' });
      return record({ type: 'lesson_checked', body: { lesson: lesson.ref, gate: 'verdict', ...result } });
    }
    case 'checks':
      return act({ kind: 'check_lesson', lesson: lesson.ref });
    case 'panel': {
      const next = reviewers.find(({ name }) => !lesson.votes.some((vote) => vote.reviewer === name));
      if (next === undefined) throw new Error('a panel that has voted is decided');
      const action = { kind: 'review_lesson', lesson: lesson.ref, reviewer: next.name } as const;
      return towardsVote(child, next, lessonSubject(lesson.ref), ABOUT_LESSON, action);
    }
    default:
      return gate satisfies never;
  }
}

function sealDraft(child: ChildState): Draft {
  if (child.verdict === null) throw new Error('a run is sealed after its verdict');
  return {
    type: 'run_sealed',
    body: {
      entries: child.entries + 1,
      spend: child.spend,
      usage: childUsage(child),
      interrupted: child.interrupted,
      verdict: child.verdict.verdict,
      verdict_ref: child.verdict.ref,
    },
  };
}
