import { type Command, InvalidArgumentError } from 'commander';
import { decimal, nanoDollars, oneOf, wholeNumber } from '../numbers.js';

const METRICS = ['pass_rate', 'cost_usd', 'steps', 'total_tokens'] as const;

/** The options that say what is measured, the same for `truss eval` and `truss request`. */
export function planOptions(command: Command): Command {
  const positive = wholeNumber(1);
  return command
    .option('--repeats <n>', 'repeats in each arm of a replicate; each takes the next case', positive)
    .option('--replicates <r>', 'independent chains of repeats, each from the same starting memory', positive)
    .option('--seed <s>', 'what the schedule, the order of cases and the agent seeds follow from', wholeNumber(0))
    .option('--concurrency <c>', 'pairs of runs side by side', wholeNumber(1, 1024))
    .option('--lessons <bundle>', 'start from the lessons of this bundle (`truss lessons export`)')
    .option('--max-cost-usd <x>', 'stop when the whole evaluation has spent this', nanoDollars)
    .option(
      '--alpha <a>',
      'level of the tests',
      decimal('a number above 0 and below 1', (a) => a > 0 && a < 1),
    )
    .option(
      '--margin <m>',
      'the smallest difference that matters',
      decimal('a number above 0', (m) => m > 0 && m <= 2 ** 53),
    )
    .option('--primary <metric>', `what decides: ${METRICS.join(', ')}`, oneOf(...METRICS))
    .option('--gate', 'exit 3 when the verdict is fail')
    .option('--progress <how>', 'how progress is shown: bar, plain, json', oneOf('bar', 'plain', 'json'));
}

export function requestId(text: string): string {
  if (/^[\x21-\x7e]{1,200}$/.test(text)) return text;
  throw new InvalidArgumentError('Expected 1 to 200 visible ASCII characters without spaces.');
}
