import { describe, expect, test } from 'vitest';
import { buildReport, type EvalReport } from '#lib/evaluation';
import { NO_SPEND, type Usage } from '#lib/ledger';
import { contractWith } from '../../../../libs/contract/src/smallest.testkit.js';
import { complete, requestFor, Scene } from '../../../../libs/evaluation/src/scene.testkit.js';
import { summaryLines } from '../evaluate/summary.js';
import { markdownReport } from './markdown.js';

const unpriced: Usage = { ...NO_SPEND, cost_nano_usd: null, input_tokens: 10, output_tokens: 2, unpriced_calls: 1 };

function reportWith(usage: Usage, contexts: { on: string; off: string }, version?: 1): EvalReport {
  const scene = new Scene(requestFor(contractWith(), { repeats: 2 }), version);
  return buildReport(
    complete(scene, (arm) => ({ verdict: 'pass', usage, context: arm === 'on' ? contexts.on : contexts.off })).view
      .state,
  );
}
const same = { on: 'a'.repeat(64), off: 'a'.repeat(64) };
const summary = (report: EvalReport): string => summaryLines(report, 'truss.db', (_, text) => text).join('\n');

describe('calls whose tokens were measured and whose price is unknown', () => {
  test('are said to have no price, and not to be unmeasured', () => {
    const report = reportWith(unpriced, same);
    expect(summary(report)).toContain('unknown in all, and 4 calls whose price is unknown');
    expect(summary(report)).not.toContain('nobody measured');
    expect(markdownReport(report)).toContain('| agent | 0 | 40 | 8 | unknown | 4 | 0 |');
  });

  test('are among the unmeasured in a report of version 1', () => {
    const report = reportWith(unpriced, same, 1);
    expect(summary(report)).toContain('and 4 calls that nobody measured');
    expect(markdownReport(report)).toContain('| agent | 0 | 40 | 8 | unknown | 4 |');
  });
});

describe('what the agents were told beside the lessons', () => {
  test('is not spoken of where it was the same', () => {
    const report = reportWith(NO_SPEND, same);
    expect(summary(report)).not.toContain('beside the lessons');
    expect(markdownReport(report)).toContain('- the arms differ only in memory: yes\n');
  });

  test('is said where it differs, with how often', () => {
    const report = reportWith(NO_SPEND, { ...same, off: 'b'.repeat(64) });
    expect(summary(report)).toContain('in 2 of 2 pairs the agents were told something else beside the lessons');
    expect(markdownReport(report)).toContain('- the arms differ only in memory: no; in 2 of 2 compared pairs');
  });
});
