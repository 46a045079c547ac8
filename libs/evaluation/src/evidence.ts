import type { Plan } from '#lib/ledger';
import { rateDifference, sixDigits, subtract, totalTokens, usd } from './numbers.js';
import { costOf, type MeasuredArm, pairedDifference } from './arms.js';
import type { Evidence } from './report.js';

/**
 * Method version 1: counts and bounds, no test. The finding is `not_treated` where no lesson was ever in a context,
 * else `descriptive`.
 */
export function evidenceOf(plan: Plan, on: MeasuredArm, off: MeasuredArm): Evidence {
  const runs = on.runs.length;
  const treated = on.runs.some((run) => run.rendered.lessons > 0);
  const warnings = [
    'method version 1 states counts and bounds only: no interval, test or detectable effect is computed',
  ];
  if (!treated) warnings.push('no lesson was ever rendered in learning_on, so nothing was treated');
  if (plan.starting_lessons.length === 0) {
    warnings.push('the first repeat of every replicate compares empty with empty: it started from no lessons');
  }
  if (plan.replicates * plan.contracts.length === 1)
    warnings.push('one unit: no test is valid, and the numbers describe these runs only');
  if (plan.contracts.some(({ contract }) => Array.isArray(contract.cases) && contract.cases.length === 0)) {
    warnings.push('repetition: the contract has no cases, so every repeat asks the same question again');
  }
  for (const [name, of] of [
    ['cost', costOf],
    ['tokens', totalTokens],
  ] as const) {
    const { pairs } = pairedDifference(on, off, of);
    if (pairs === runs) continue;
    warnings.push(
      `${name}: ${pairs} of ${runs} pairs were measured in both arms; the difference of the totals covers unequal sets of runs`,
    );
  }
  if (on.counts.pass === off.counts.pass && comparablePairs(on, off) === 0) {
    warnings.push('passes are equal and no pair had its cost or tokens measured in both arms: the tie shows nothing');
  }
  const unverifiable = { on: on.counts.unverifiable, off: off.counts.unverifiable };
  if (unverifiable.on !== unverifiable.off) {
    warnings.push(
      `unverifiable runs differ between the arms (${unverifiable.on} on, ${unverifiable.off} off): they bias the difference`,
    );
  }
  return {
    method_version: 1,
    finding: treated ? 'descriptive' : 'not_treated',
    unit: 'replicate',
    units: plan.replicates * plan.contracts.length,
    primary: {
      metric: plan.statistics.primary,
      estimate: estimateOf(plan.statistics.primary, on, off),
      interval: null,
      test: null,
      p_floor: null,
      p_floor_realised: null,
      detectable_effect: null,
      bounds: [
        sixDigits(rateDifference(on.counts.pass, runs, off.counts.pass + unverifiable.off, runs)),
        sixDigits(rateDifference(on.counts.pass + unverifiable.on, runs, off.counts.pass, runs)),
      ],
    },
    secondary: [],
    arms: { learning_on: armEvidence(on), learning_off: armEvidence(off) },
    consistency: { flip_rate: null, pass_at_k: null, pass_hat_k: null },
    contracts: [],
    assumptions: [
      'the arms of a pair ran side by side with one case and one seed',
      'repeats of one learning_on replicate share a growing memory and are not independent: the replicate is the unit',
    ],
    warnings,
  };
}

/** Pairs of which the cost or the tokens were measured in both arms. */
export function comparablePairs(on: MeasuredArm, off: MeasuredArm): number {
  return Math.max(pairedDifference(on, off, costOf).pairs, pairedDifference(on, off, totalTokens).pairs);
}

function estimateOf(metric: Plan['statistics']['primary'], on: MeasuredArm, off: MeasuredArm): number | null {
  const rounded = (value: number | null) => (value === null ? null : sixDigits(value));
  switch (metric) {
    case 'pass_rate':
      return rounded(rateDifference(on.counts.pass, on.runs.length, off.counts.pass, off.runs.length));
    case 'cost_usd': {
      const cost = subtract(on.usage.cost_nano_usd, off.usage.cost_nano_usd);
      return rounded(cost === null ? null : usd(cost));
    }
    case 'steps':
      return rounded(on.usage.steps - off.usage.steps);
    case 'total_tokens':
      return rounded(subtract(totalTokens(on.usage), totalTokens(off.usage)));
    default:
      return metric satisfies never;
  }
}

function armEvidence({ runs, counts }: MeasuredArm): Evidence['arms'][string] {
  return {
    runs: runs.length,
    counts,
    pass_rate_bounds: [
      sixDigits(counts.pass / runs.length),
      sixDigits((counts.pass + counts.unverifiable) / runs.length),
    ],
  };
}
