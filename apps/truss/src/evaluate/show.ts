import type { EvalReport } from '#lib/evaluation';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { barReporter } from '../progress/bar.js';
import type { Reporter } from '../progress/events.js';
import { jsonReporter } from '../progress/json.js';
import { plainReporter } from '../progress/plain.js';
import { type Output, OutputClosed, type Terminal } from '../terminal.js';
import { summaryLines } from './summary.js';

export type ProgressStyle = 'bar' | 'plain' | 'json';

export function reporterFor(how: ProgressStyle | undefined, err: Output): Reporter {
  const now = () => performance.now();
  const bar = err.isTerminal && process.env['CI'] === undefined;
  switch (how ?? (bar ? 'bar' : 'plain')) {
    case 'bar':
      return barReporter(err, now);
    case 'json':
      return jsonReporter(err);
    default:
      return plainReporter(err, now);
  }
}

/**
 * A measured `fail` is a result, not an error, unless it was to be a gate.
 * @param place its `option` names that names where the evaluation is
 */
export async function printReport(
  report: EvalReport,
  { gate, progress }: { readonly gate?: boolean; readonly progress?: ProgressStyle },
  { option, terminal: { out, err } }: { readonly option: string; readonly terminal: Terminal },
): Promise<ExitCode> {
  try {
    await out.write(`${JSON.stringify(report, null, 2)}\n`);
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error;
  }
  if (progress !== 'json') await err.write(`\n${summaryLines(report, option, err.paint).join('\n')}\n`);
  return gate === true && report.verdict === 'fail' ? EXIT.gate : EXIT.done;
}
