import { Command, InvalidArgumentError, Option } from 'commander';
import { decimal, nanoDollars, notInThisVersion, oneOf, wholeNumber } from '../numbers.js';
import type { RunFlags } from '../evaluate/run.js';
import { contextOf, examples } from './context.js';

const METRICS = ['pass_rate', 'cost_usd', 'steps', 'total_tokens'] as const;

export function evalCommand(): Command {
  const positive = wholeNumber(1);
  const command = new Command('eval')
    .summary('run a contract with learning on and off, and report')
    .description(
      'Runs one contract with learning on and with learning off, records every run in a signed ledger, and prints the report.\n' +
        'The report goes to stdout as JSON; progress and a summary go to stderr.',
    )
    .option('--contract <file>', 'the contract to evaluate (TOML)')
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
    .option('--progress <how>', 'how progress is shown: bar, plain, json', oneOf('bar', 'plain', 'json'))
    .option('--resume <id>', 'go on with an evaluation that was stopped')
    .option('--request-id <id>', 'the same id and contract always name the same evaluation', requestId)
    .addOption(later('--suite <file>', 'evaluate one contract with --contract'))
    .addOption(later('--controls <names>', 'leave it out'))
    .addHelpText(
      'after',
      examples(
        ['truss eval --contract examples/repair/contract.toml --repeats 3', ''],
        ['truss eval --contract my.toml --repeats 8 --replicates 6 --gate > report.json', ''],
        ['truss eval --resume ev_0123456789abcdef0123456789abcdef', ''],
      ),
    );
  return command.action(async (flags: RunFlags) => {
    const { runEval } = await import('../evaluate/run.js');
    process.exitCode = await runEval(flags, contextOf(command));
  });
}

function later(flags: string, instead: string): Option {
  const name = flags.split(' ')[0] ?? flags;
  return new Option(flags, 'with a later release').argParser(notInThisVersion(name, instead)).hideHelp();
}

function requestId(text: string): string {
  if (/^[\x21-\x7e]{1,200}$/.test(text)) return text;
  throw new InvalidArgumentError('Expected 1 to 200 visible ASCII characters without spaces.');
}
