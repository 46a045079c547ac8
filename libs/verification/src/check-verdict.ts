import { reviewResult } from '#lib/child-run/core';
import type { ChildState } from '#lib/evaluation';
import { type BodyOf, type Entry, type EntryOf, LedgerError, parseLedgerRef, type Verdict } from '#lib/ledger';
import type { Context } from './context.js';
import type { PlannedContract } from './plan-shape.js';

/** Why a verdict ref names no verdict of this chain that says the same, or `null`. */
export function verdictRefFault(chain: readonly Entry[], ref: string, verdict: Verdict): string | null {
  let parsed: ReturnType<typeof parseLedgerRef>;
  try {
    parsed = parseLedgerRef(ref);
  } catch (error) {
    if (error instanceof LedgerError) return error.message;
    throw error;
  }
  const entry = chain[parsed.seq];
  if (entry === undefined) return `its verdict ref names seq ${parsed.seq}, past the end of the run`;
  if (entry.ledger !== parsed.ledger) return `its verdict ref names the ledger ${parsed.ledger}, not ${entry.ledger}`;
  if (entry.hash !== parsed.hash) return `its verdict ref names another entry than the one at seq ${parsed.seq}`;
  if (entry.type !== 'verdict') return `its verdict ref names a ${entry.type}`;
  return entry.body.verdict === verdict ? null : `it says ${verdict}, the verdict is ${entry.body.verdict}`;
}

/**
 * Step 8a: the one verdict of a run follows from its criteria, each checked once and before it: a fail if one failed, a pass if all passed, else
 * unverifiable. A review criterion follows from the votes that were returned.
 */
export function checkVerdict(
  context: Context,
  chain: readonly Entry[],
  run: ChildState,
  contract: PlannedContract,
): void {
  const wrong = (entry: Entry, message: string): void => context.findings.error('verdict_ref_invalid', entry, message);
  let verdict: EntryOf<'verdict'> | null = null;
  const checked = new Set<string>();
  for (const entry of chain) {
    if (entry.type === 'criterion_checked') {
      const { criterion } = entry.body;
      if (checked.has(criterion)) wrong(entry, `criterion ${criterion} is checked twice`);
      if (verdict !== null) wrong(entry, `criterion ${criterion} is checked after the verdict`);
      checked.add(criterion);
      checkReview(entry, chain, contract, wrong);
    } else if (entry.type === 'verdict') {
      if (verdict !== null) wrong(entry, 'the run has a second verdict');
      verdict = entry;
    } else if (entry.type === 'run_sealed') {
      const fault = verdictRefFault(chain, entry.body.verdict_ref, entry.body.verdict);
      if (fault !== null) wrong(entry, fault);
    }
  }
  if (verdict !== null) checkAgainstCriteria(verdict, run, contract, wrong);
}

type Wrong = (entry: Entry, message: string) => void;

function checkAgainstCriteria(
  entry: EntryOf<'verdict'>,
  run: ChildState,
  contract: PlannedContract,
  wrong: Wrong,
): void {
  const states = contract.criteria.map(({ id }) => run.criteria.get(id));
  const refs = states.flatMap((state) => (state === undefined ? [] : [state.ref]));
  if (refs.length !== entry.body.criteria.length || refs.some((ref, i) => ref !== entry.body.criteria[i])) {
    wrong(entry, 'the verdict does not rest on the criteria that were checked');
  }
  const failed = states.some((state) => state?.result === 'fail');
  const passed = run.broken === null && states.every((state) => state?.result === 'pass');
  const expected = failed ? 'fail' : passed ? 'pass' : 'unverifiable';
  if (entry.body.verdict !== expected)
    wrong(entry, `the verdict is ${entry.body.verdict}; its criteria make it ${expected}`);
}

function checkReview(
  entry: EntryOf<'criterion_checked'>,
  chain: readonly Entry[],
  contract: PlannedContract,
  wrong: Wrong,
): void {
  const { criterion, result } = entry.body;
  const planned = contract.criteria.find(({ id }) => id === criterion);
  if (planned === undefined) return wrong(entry, `the contract has no criterion ${criterion}`);
  if (planned.kind !== 'review') return;
  const votes = votesBefore(entry, chain);
  const names = new Set(contract.panel?.reviewers.map(({ name }) => name));
  if (new Set(votes.map(({ reviewer }) => reviewer)).size !== votes.length)
    wrong(entry, `a reviewer voted twice on ${criterion}`);
  if (votes.some(({ reviewer }) => !names.has(reviewer)))
    wrong(entry, `somebody who is not of the panel voted on ${criterion}`);
  const quorum = contract.panel?.quorum ?? 1;
  const approvals = votes.filter(({ vote }) => vote === 'approve').length;
  const rejections = votes.filter(({ vote }) => vote === 'reject').length;
  const expected = reviewResult(approvals, rejections, quorum);
  if (result !== expected)
    wrong(
      entry,
      `${approvals} approve and ${rejections} reject with a quorum of ${quorum}: that is ${expected}, not ${result}`,
    );
}

function votesBefore(entry: EntryOf<'criterion_checked'>, chain: readonly Entry[]): BodyOf<'review_returned'>[] {
  return chain
    .slice(0, entry.seq)
    .flatMap((one) =>
      one.type === 'review_returned' && one.body.criterion === entry.body.criterion ? [one.body] : [],
    );
}
