import { Command, Option } from 'commander';
import { notInThisVersion } from '../numbers.js';
import type { RunFlags } from '../evaluate/run.js';
import { contextOf, examples } from './context.js';
import { planOptions, requestId } from './plan-options.js';

export function evalCommand(): Command {
  const command = new Command('eval')
    .summary('run a contract with learning on and off, and report')
    .description(
      'Runs one contract with learning on and with learning off, records every run in a signed ledger, and prints the report.\n' +
        'The report goes to stdout as JSON; progress and a summary go to stderr.',
    )
    .option('--contract <file>', 'the contract to evaluate (TOML)');
  planOptions(command)
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
