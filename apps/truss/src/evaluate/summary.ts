import { type EvalReport, isComparable, type ReportArm } from '#lib/evaluation';
import { dollars, percent, plural, signed, table, whole } from '../format.js';
import type { Output } from '../terminal.js';

const UNKNOWN = 'unknown';

/**
 * What a person reads in ten seconds: both arms side by side, the delta, the verdict, what the data supports, the spend, and how to check it.
 * @param option that names where the evaluation is
 */
export function summaryLines(report: EvalReport, option: string, paint: Output['paint']): string[] {
  const [on, off] = report.arms as [ReportArm, ReportArm];
  const good = report.verdict === 'pass';
  const rows = armRows(report, on, off);
  const facts = [
    ['verdict', `${paint(good ? 'green' : 'red', report.verdict)}: ${verdictReason(report, on, off)}`],
    ['finding', findingText(report)],
    ['spend', spendText(report)],
    ...promptFacts(report),
    ['id', report.eval_run_id],
    ['verify', `truss ${option} --verify ${report.eval_run_id}`],
  ];
  return [
    `${paint('bold', report.contract_id)}  ${plural(report.repeats, 'repeat')} x ${plural(report.replicates, 'replicate')}, ${plural(report.runs, 'run')} in each arm`,
    '',
    ...table(rows, ['left', 'right', 'right', 'right'], (cell, row, column) =>
      row === 0 ? paint('dim', cell) : column === 0 ? paint('dim', cell) : cell,
    ).map((line) => `  ${line}`),
    '',
    ...table(facts, [], (cell, _row, column) => (column === 0 ? paint('dim', cell) : cell)).map((line) => `  ${line}`),
  ];
}

function armRows(report: EvalReport, on: ReportArm, off: ReportArm): string[][] {
  const { delta } = report;
  const tokens = (arm: ReportArm) => {
    const { input_tokens, output_tokens } = arm.usage;
    return input_tokens === null || output_tokens === null ? null : input_tokens + output_tokens;
  };
  const row = (name: string, a: number | null, b: number | null, d: number | null, show: (value: number) => string) => [
    name,
    a === null ? UNKNOWN : show(a),
    b === null ? UNKNOWN : show(b),
    d === null ? UNKNOWN : signed(d, show),
  ];
  const rows = [
    ['', 'learning on', 'learning off', 'difference'],
    [
      'passed',
      `${whole(on.counts.pass)} of ${whole(report.runs)}`,
      `${whole(off.counts.pass)} of ${whole(report.runs)}`,
      signed(on.counts.pass - off.counts.pass),
    ],
    row('pass rate', on.pass_rate, off.pass_rate, delta.pass_rate, percent),
  ];
  if (on.counts.unverifiable + off.counts.unverifiable > 0) {
    const { unverifiable: a } = on.counts;
    const { unverifiable: b } = off.counts;
    rows.push(row('unverifiable', a, b, a - b, whole));
  }
  rows.push(
    row('steps', on.usage.steps, off.usage.steps, delta.steps, whole),
    row('tokens', tokens(on), tokens(off), delta.total_tokens, whole),
    row('cost', on.usage.cost_usd, off.usage.cost_usd, delta.cost_usd, dollars),
  );
  return rows;
}

/** By which of the verdict's rules it came out so. */
function verdictReason({ verdict }: EvalReport, on: ReportArm, off: ReportArm): string {
  if (on.counts.pass > off.counts.pass) return 'learning on passed more runs';
  if (on.counts.pass < off.counts.pass) return 'learning on passed fewer runs';
  if (verdict === 'fail') return 'as many runs passed, at a greater cost or with more tokens';
  if (!isComparable(on, off)) {
    return 'as many runs passed, and no pair had its cost or tokens measured in both arms: the tie shows nothing';
  }
  return 'as many runs passed, and neither cost nor tokens were greater';
}

function findingText({ evidence }: EvalReport): string {
  const units = plural(evidence.units, evidence.unit);
  if (evidence.finding === 'not_treated') return 'not treated: no lesson ever stood in a context of learning on';
  if (evidence.finding === 'descriptive')
    return `descriptive: ${units}, so the numbers describe these runs and no others`;
  return `${evidence.finding.replaceAll('_', ' ')} (${units})`;
}

function spendText({ arms, spend }: EvalReport): string {
  const costs = [...arms.map((arm) => arm.usage.cost_usd), spend.superseded.cost_usd, spend.interrupted.cost_usd];
  const known = costs.filter((cost) => cost !== null);
  const sum = known.reduce((total, cost) => total + cost, 0);
  // As in `addUsage`: a known zero must not turn "unknown" into "zero".
  const total = sum === 0 && known.length < costs.length ? UNKNOWN : dollars(sum);
  const { unmeasured_calls: unmeasured, unpriced_calls: unpriced = 0 } = spend;
  const calls = [
    ...(unpriced === 0 ? [] : [`${plural(unpriced, 'call')} whose price is unknown`]),
    ...(unmeasured === 0 ? [] : [`${plural(unmeasured, 'call')} that nobody measured`]),
  ];
  return [`${total} in all`, ...calls].join(', and ');
}

/** Nothing, where the agents were told the same but for the lessons. */
function promptFacts({ environment: { prompts } }: EvalReport): string[][] {
  if (prompts === undefined || prompts.different === 0) return [];
  const { different, compared } = prompts;
  return [
    [
      'prompts',
      `in ${whole(different)} of ${plural(compared, 'pair')} the agents were told something else beside the lessons`,
    ],
  ];
}
