import type { Finding, Severity, VerificationResult } from '#lib/verification';
import { oneLine, plural, table, whole } from '../format.js';
import type { Output } from '../terminal.js';

const MEANING: Readonly<Record<VerificationResult['result'], string>> = {
  valid: 'every signature, chain, anchor and number holds',
  ended: 'nothing is wrong, and it was ended before its end: there is no report',
  open: 'nothing is wrong so far, and it is not closed',
  invalid: 'do not rely on it',
  indeterminate: 'it has entries of a version that this truss does not know',
  not_found: 'no trusted entry of it is here',
};
const COLOURS: Readonly<Record<Severity, 'red' | 'yellow' | 'dim'>> = {
  error: 'red',
  warning: 'yellow',
  information: 'dim',
};
const SHOWN_SIBLINGS = 5;

/** The result as a person reads it. */
export function verificationLines(
  result: VerificationResult,
  siblings: readonly string[],
  paint: Output['paint'],
): string[] {
  const colour = result.result === 'valid' ? 'green' : result.result === 'invalid' ? 'red' : 'yellow';
  const { checked, met } = result;
  const facts = [
    [
      'checked',
      [
        plural(checked.entries, 'entry', 'entries'),
        plural(checked.signatures, 'signature'),
        plural(checked.links, 'link'),
        plural(checked.anchors, 'anchor'),
        plural(checked.proofs, 'proof'),
        plural(checked.numbers, 'number'),
        plural(checked.lessons, 'lesson'),
      ].join(', '),
    ],
    [
      'met',
      `${plural(met.duplicates, 'duplicate')}, ${whole(met.superseded)} superseded, ${whole(met.foreign)} foreign`,
    ],
  ];
  if (result.head !== null)
    facts.push(['head', `${result.head} (save it: --expect-head finds a log that was rolled back)`]);
  if (result.report !== null)
    facts.push(['verdict', `${result.report.verdict}, ${result.report.evidence.finding.replaceAll('_', ' ')}`]);
  if (result.single_operator) {
    facts.push(['note', 'single_operator: one operator holds every key that signed, and could sign all of it again']);
  }
  if (siblings.length > 0) facts.push(['note', siblingsText(siblings)]);
  const findings = result.findings.filter(({ code }) => code !== 'single_operator');
  return [
    `${paint([colour, 'bold'], result.result)}  ${result.evaluation}  ${MEANING[result.result]}`,
    '',
    ...table(facts, [], (cell, _row, column) => (column === 0 ? paint('dim', cell) : cell)).map((line) => `  ${line}`),
    ...(findings.length === 0 ? [] : ['', ...findingLines(findings, paint)]),
  ];
}

function siblingsText(siblings: readonly string[]): string {
  const shown = siblings.slice(0, SHOWN_SIBLINGS).join(', ');
  const rest = siblings.length - SHOWN_SIBLINGS;
  const others = siblings.length === 1 ? 'another evaluation' : `${whole(siblings.length)} other evaluations`;
  return `sibling_evaluations: ${others} of the same contract in this log: ${shown}${rest > 0 ? ` and ${whole(rest)} more` : ''}`;
}

function findingLines(findings: readonly Finding[], paint: Output['paint']): string[] {
  const rows = findings.map(({ severity, code, ledger, seq, position, message }) => [
    severity,
    code,
    `${ledger ?? '-'}${seq === null ? '' : `#${seq}`}`,
    position === null ? '-' : `record ${position}`,
    oneLine(message),
  ]);
  return table(rows, [], (cell, row, column) => {
    const severity = findings[row]?.severity ?? 'error';
    return column < 2 ? paint(COLOURS[severity], cell) : cell;
  }).map((line) => `  ${line}`);
}
