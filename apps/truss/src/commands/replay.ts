import { Command, InvalidArgumentError } from 'commander';
import type { ReplayFlags } from '../replay/run.js';
import { contextOf, examples } from './context.js';

export function replayCommand(): Command {
  const command = new Command('replay')
    .summary('check every evaluation of a log again, from its first record')
    .description(
      'Reads all records of a cluster, or of a database, and verifies every evaluation in one pass: a line for each, when it is done.\n' +
        'Exits 0 when nothing is wrong with any of them, and 4 otherwise.',
    )
    .option(
      '--since <time>',
      'only evaluations that began then or later, such as 2026-12-01 or 2026-12-01T10:00Z',
      time,
    )
    .option('--no-signatures', 'leave the signatures unchecked: much faster, and then nothing is called valid')
    .option('--json', 'one JSON object a line')
    .addHelpText(
      'after',
      examples(
        ['truss replay --brokers 127.0.0.1:19092 --registry http://127.0.0.1:18081/apis/ccompat/v7', 'a cluster'],
        ['truss replay --db truss.db', 'a database'],
      ),
    );
  return command.action(async (flags: ReplayFlags) => {
    const { runReplay } = await import('../replay/run.js');
    process.exitCode = await runReplay(flags, contextOf(command));
  });
}

function time(text: string): Date {
  const date = new Date(text);
  if (!Number.isNaN(date.getTime()) && /^\d{4}-\d\d-\d\d/.test(text)) return date;
  throw new InvalidArgumentError('Expected a time such as 2026-12-01 or 2026-12-01T10:00Z.');
}
