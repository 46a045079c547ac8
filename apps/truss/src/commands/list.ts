import { Command } from 'commander';
import { contextOf, examples } from './context.js';

export function listCommand(): Command {
  const command = new Command('list')
    .summary('show the evaluations of a database')
    .description('Shows the evaluations of a database, the oldest first.')
    .option('--json', 'one JSON object a line')
    .addHelpText('after', examples(['truss list --db truss.db', '']));
  return command.action(async (flags: { json?: boolean }) => {
    const { runList } = await import('../list.js');
    process.exitCode = await runList(flags, contextOf(command));
  });
}
