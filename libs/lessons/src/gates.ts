import type { BodyOf, Vote } from '#lib/ledger';
import { CHECKS, VERDICT_CHECK } from './check-names.js';

/** Where a lesson must pass before it is held, cheapest first. */
export type Gate = BodyOf<'lesson_promoted'>['gates'][number];

/** What a `lesson_checked` says. */
export type GateCheck = Pick<BodyOf<'lesson_checked'>, 'gate' | 'check' | 'passed' | 'reason'>;
/** What a `lesson_reviewed` says. */
export interface GateVote {
  readonly reviewer: string;
  readonly vote: Vote;
}

/** All that is recorded of one lesson so far. */
export interface GateEvidence {
  readonly checks: readonly GateCheck[];
  /** In the order of their entries. */
  readonly votes: readonly GateVote[];
  /** Approvals that promote; 0 without a panel. */
  readonly quorum: number;
  /** How many reviewers the panel has; 0 without a panel. */
  readonly reviewers: number;
}

export type PromotionDecision =
  | { readonly kind: 'next'; readonly gate: Gate }
  | { readonly kind: 'promoted' }
  | { readonly kind: 'rejected'; readonly gate: Gate; readonly reason: string };

/**
 * What is to be done with a lesson, from what is recorded of it: run the gate `next` (or the rest of it), promote it, or
 * reject it. Gates count in the order of `gates`; one that failed ends it.
 *
 * `verdict` and `checks` are passed when each of their checks is recorded as passed. `panel` is passed with approvals of
 * `quorum` distinct reviewers, and failed as soon as those still to vote cannot bring that about. A reviewer's first vote
 * counts, any later one does not. An abstention is a vote that approves nothing.
 */
export function decidePromotion(gates: readonly Gate[], evidence: GateEvidence): PromotionDecision {
  for (const gate of gates) {
    const outcome = gate === 'panel' ? panelOutcome(evidence) : checksOutcome(gate, evidence.checks);
    if (outcome === 'open') return { kind: 'next', gate };
    if (outcome !== 'passed') return { kind: 'rejected', gate, reason: outcome.failed };
  }
  return { kind: 'promoted' };
}

type Outcome = 'passed' | 'open' | { readonly failed: string };

function checksOutcome(gate: 'verdict' | 'checks', all: readonly GateCheck[]): Outcome {
  const checks = all.filter((check) => check.gate === gate);
  const failed = checks.find(({ passed }) => !passed);
  if (failed !== undefined) return { failed: `${failed.check}: ${failed.reason}` };
  return checksOf(gate).every((name) => checks.some(({ check }) => check === name)) ? 'passed' : 'open';
}

/** Names of the checks that a gate consists of. */
export function checksOf(gate: 'verdict' | 'checks'): readonly string[] {
  return gate === 'verdict' ? [VERDICT_CHECK] : CHECKS;
}

/** What a contract asks of every lesson that its runs recall, wherever it was promoted: its own gates, and its quorum where one of them is the panel. */
export function recallPolicy(contract: {
  readonly learning: { readonly gates: readonly Gate[] } | null;
  readonly panel: { readonly quorum: number } | null;
}): { readonly gates: readonly Gate[]; readonly quorum: number } {
  const gates = contract.learning?.gates ?? [];
  return { gates, quorum: gates.includes('panel') ? (contract.panel?.quorum ?? 0) : 0 };
}

function panelOutcome({ votes, quorum, reviewers }: GateEvidence): Outcome {
  const first = new Map<string, Vote>();
  for (const { reviewer, vote } of votes) if (!first.has(reviewer)) first.set(reviewer, vote);
  const approvals = [...first.values()].filter((vote) => vote === 'approve').length;
  if (quorum > 0 && approvals >= quorum) return 'passed';
  if (quorum > 0 && approvals + reviewers - first.size >= quorum) return 'open';
  return { failed: `no quorum: ${approvals} of ${reviewers} reviewers approved, ${quorum} must` };
}
