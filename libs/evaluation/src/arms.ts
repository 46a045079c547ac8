import { type Arm, NO_SPEND, type Usage, type Verdict } from '#lib/ledger';
import { subtract } from './numbers.js';
import type { Counts } from './report.js';
import type { ChildRecord } from './state.js';

/** The runs of one arm in the order of the plan. */
export interface MeasuredArm {
  readonly arm: Arm;
  readonly runs: readonly ChildRecord[];
  readonly counts: Counts;
  readonly usage: Usage;
}

function verdictOfRun(run: ChildRecord): Verdict {
  return run.anchor?.body.verdict ?? 'unverifiable';
}

export function usageOfRun(run: ChildRecord): Usage {
  return run.anchor?.body.usage ?? NO_SPEND;
}

export function countVerdicts(runs: readonly ChildRecord[]): Counts {
  const counts: Counts = { pass: 0, fail: 0, unverifiable: 0 };
  for (const run of runs) counts[verdictOfRun(run)] += 1;
  return counts;
}

export function costOf(usage: Usage): number | null {
  return usage.cost_nano_usd;
}

/** On minus off over the pairs of which both runs were measured, and how many those are. */
export function pairedDifference(
  on: MeasuredArm,
  off: MeasuredArm,
  of: (usage: Usage) => number | null,
): { readonly difference: number; readonly pairs: number } {
  let difference = 0;
  let pairs = 0;
  on.runs.forEach((run, i) => {
    const pair = subtract(of(usageOfRun(run)), of(usageOfRun(off.runs[i] as ChildRecord)));
    if (pair === null) return;
    difference += pair;
    pairs += 1;
  });
  return { difference, pairs };
}
