import { Command } from 'commander';
import { reportFormat } from '../report/formats.js';
import { contextOf, examples } from './context.js';

export function reportCommand(): Command {
  const command = new Command('report')
    .summary('print the report of an evaluation again')
    .description('Prints the signed report of an evaluation. `truss verify` says whether it holds.')
    .argument('<id>', 'the evaluation')
    .option(
      '--format <format>',
      'json or md (jsonl, csv, html and junit come with a later release)',
      reportFormat,
      'json',
    )
    .addHelpText('after', examples(['truss report ev_0123456789abcdef0123456789abcdef --format md', '']));
  return command.action(async (id: string, flags: { format: 'json' | 'md' }) => {
    const { runReport } = await import('../report/run.js');
    process.exitCode = await runReport(id, flags.format, contextOf(command));
  });
}
