import type { CurvePosition, EvalReport, ReportArm, ReportUsage } from '#lib/evaluation';
import { dollars, percent, plural, signed, whole } from '../format.js';

/** The report for people: what the JSON says, in tables. */
export function markdownReport(report: EvalReport): string {
  const [on, off] = report.arms as [ReportArm, ReportArm];
  const { evidence, delta } = report;
  const arms: [string, ReportArm][] = [
    ['learning on', on],
    ['learning off', off],
    ...report.controls.map((arm): [string, ReportArm] => [arm.arm, arm]),
  ];
  // A report of version 1 counts them as unmeasured.
  const isApart = report.spend.unpriced_calls !== undefined;
  const sections = [
    `# ${cell(report.contract_id)}: ${report.verdict}`,
    `${report.summary.replace(/^summary\/v\d+: /, '')}`,
    '## Arms',
    grid(
      ['arm', 'pass', 'fail', 'unverifiable', 'pass rate', 'steps', 'input tokens', 'output tokens', 'cost'],
      [
        ...arms.map(([name, arm]) => [name, ...countCells(arm), percent(arm.pass_rate), ...usageCells(arm.usage)]),
        [
          'on - off',
          signed(on.counts.pass - off.counts.pass),
          signed(on.counts.fail - off.counts.fail),
          signed(on.counts.unverifiable - off.counts.unverifiable),
          signed(delta.pass_rate, percent),
          signed(delta.steps),
          known(delta.input_tokens, (n) => signed(n)),
          known(delta.output_tokens, (n) => signed(n)),
          known(delta.cost_usd, (n) => signed(n, dollars)),
        ],
      ],
    ),
    '## What the data supports',
    `Finding: **${evidence.finding.replaceAll('_', ' ')}** (method version ${evidence.method_version}, ${plural(evidence.units, evidence.unit)}). ` +
      `Primary metric: ${evidence.primary.metric}, estimate ${known(evidence.primary.estimate, String)}.`,
    bullets('Assumptions', evidence.assumptions),
    bullets('Warnings', evidence.warnings),
    '## By repeat',
    grid(
      [
        'repeat',
        'pass on',
        'pass off',
        'steps on',
        'steps off',
        'cost on',
        'cost off',
        'lessons rendered on',
        'lesson tokens on',
      ],
      report.curve.map(({ repeat, learning_on, learning_off }) => [
        String(repeat),
        ofRuns(learning_on),
        ofRuns(learning_off),
        whole(learning_on.usage.steps),
        whole(learning_off.usage.steps),
        known(learning_on.usage.cost_usd, dollars),
        known(learning_off.usage.cost_usd, dollars),
        whole(learning_on.lessons_rendered),
        whole(learning_on.lesson_tokens),
      ]),
    ),
    '## Spend',
    grid(
      [
        'by',
        'steps',
        'input tokens',
        'output tokens',
        'cost',
        ...(isApart ? ['unpriced calls'] : []),
        'unmeasured calls',
      ],
      (['agent', 'tools', 'reviewers', 'extraction', 'superseded', 'interrupted'] as const).map((part) => [
        part,
        ...usageCells(report.spend[part]),
        ...(isApart ? [whole(report.spend[part].unpriced_calls ?? 0)] : []),
        whole(report.spend[part].unmeasured_calls),
      ]),
    ),
    '## Runs',
    grid(
      ['run', 'case', 'verdict', 'steps', 'verdict ref'],
      arms.flatMap(([, arm]) =>
        arm.children.map((child) => [
          `\`${child.child_run_id}\``,
          child.case === null ? '' : cell(child.case),
          child.verdict,
          whole(child.usage.steps),
          `\`${child.verdict_ref}\``,
        ]),
      ),
    ),
    '## Provenance',
    [
      `- evaluation \`${report.eval_run_id}\``,
      `- report entry \`${report.report_ref ?? ''}\``,
      `- truss ${report.environment.truss}, Node ${report.environment.node}`,
      `- the arms differ only in memory: ${report.environment.arms_differ_only_in_memory ? 'yes' : 'no'}${promptText(report)}`,
      `- check it: \`truss verify ${report.eval_run_id}\``,
    ].join('\n'),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

/** Where the agents were told more than the lessons that differs. */
function promptText({ environment: { prompts } }: EvalReport): string {
  if (prompts === undefined || prompts.different === 0) return '';
  return `; in ${whole(prompts.different)} of ${plural(prompts.compared, 'compared pair')} the agents were told something else beside the lessons`;
}

function grid(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, at) => (at === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

function bullets(title: string, items: readonly string[]): string {
  return items.length === 0 ? '' : [`${title}:`, '', ...items.map((item) => `- ${item}`)].join('\n');
}

function known<T>(value: T | null, show: (value: T) => string): string {
  return value === null ? 'unknown' : show(value);
}

function countCells({ counts }: ReportArm): string[] {
  return [whole(counts.pass), whole(counts.fail), whole(counts.unverifiable)];
}

function usageCells(usage: ReportUsage): string[] {
  return [
    whole(usage.steps),
    known(usage.input_tokens, whole),
    known(usage.output_tokens, whole),
    known(usage.cost_usd, dollars),
  ];
}

function ofRuns({ counts, runs }: CurvePosition): string {
  return `${whole(counts.pass)}/${whole(runs)}`;
}

// A contract names its cases as it likes; in a table a bar or a tag would break out.
function cell(text: string): string {
  return text.replace(/[\\|`<>*_[\]#\r\n]/g, (mark) => (/[\r\n]/.test(mark) ? ' ' : `\\${mark}`));
}
