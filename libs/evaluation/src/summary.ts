import type { Evidence, EvalReport, ReportArm, ReportVersion } from './report.js';

type Numbers = Omit<EvalReport, 'evidence' | 'summary' | 'report_ref'>;

/** Template `summary/v1` or `summary/v2`, over the report's numbers and nothing else. */
export function summaryOf(report: Numbers, evidence: Evidence, version: ReportVersion): string {
  const [on, off] = report.arms as [ReportArm, ReportArm];
  const shape = `${report.repeats} repeats x ${report.replicates} ${report.replicates === 1 ? 'replicate' : 'replicates'}`;
  const sentences = [
    `Learning on passed ${on.counts.pass} of ${report.runs} runs, learning off ${off.counts.pass} of ${report.runs} (${shape}).`,
    `Steps ${on.usage.steps} on, ${off.usage.steps} off; ${measured('cost', 'USD', on.usage.cost_usd, off.usage.cost_usd)}; ${measured('tokens', '', tokens(on), tokens(off))}.`,
    `Verdict: ${report.verdict}.`,
  ];
  const unverifiable = on.counts.unverifiable + off.counts.unverifiable;
  if (unverifiable > 0)
    sentences.push(
      `${unverifiable} of the runs could not be verified (${on.counts.unverifiable} on, ${off.counts.unverifiable} off).`,
    );
  if (report.spend.unmeasured_calls > 0)
    sentences.push(`The spend of ${report.spend.unmeasured_calls} calls is unknown and in no total.`);
  const unpriced = report.spend.unpriced_calls ?? 0;
  if (unpriced > 0)
    sentences.push(`The cost of ${unpriced} calls is unknown, because their price is, and in no total.`);
  const prompts = report.environment.prompts;
  if (prompts !== undefined && prompts.different > 0)
    sentences.push(
      `The arms differ in more than memory: in ${prompts.different} of ${prompts.compared} pairs the agents were told something else beside the lessons.`,
    );
  if (on.counts.pass === off.counts.pass && !isComparable(on, off)) {
    sentences.push('Passes are equal and no pair had its cost or tokens measured in both arms: the tie shows nothing.');
  }
  sentences.push(
    evidence.finding === 'not_treated'
      ? 'No lesson was ever rendered in learning on, so nothing was treated.'
      : `The evidence is ${evidence.finding}: it has ${evidence.units} ${evidence.units === 1 ? 'unit' : 'units'}.`,
  );
  return `summary/v${version}: ${sentences.join(' ')}`;
}

/** Whether any pair had its cost, or its tokens, measured in both arms. */
export function isComparable(on: ReportArm, off: ReportArm): boolean {
  return on.children.some((child, i) => {
    const other = off.children[i];
    if (other === undefined) return false;
    const cost = child.usage.cost_usd !== null && other.usage.cost_usd !== null;
    return cost || (tokens(child) !== null && tokens(other) !== null);
  });
}

function tokens({ usage }: Pick<ReportArm, 'usage'>): number | null {
  const { input_tokens, output_tokens } = usage;
  return input_tokens === null || output_tokens === null ? null : input_tokens + output_tokens;
}

function measured(name: string, unit: string, on: number | null, off: number | null): string {
  const value = (amount: number | null) => (amount === null ? 'unknown' : `${amount}${unit === '' ? '' : ` ${unit}`}`);
  return `${name} ${value(on)} on, ${value(off)} off`;
}
