import { Command } from 'commander';
import { contextOf, examples } from './context.js';

export function keysCommand(): Command {
  const command = new Command('keys')
    .summary('make or show the keys that sign the ledgers')
    .description('The signing keys of a database, in the folder beside it. Private keys are never shown.')
    .addHelpText('after', examples(['truss keys list --db truss.db', '']));
  const init = new Command('init')
    .description('Makes the keys of a database. `truss eval` does the same on first use.')
    .addHelpText('after', examples(['truss keys init --db truss.db', '']));
  init.action(async () => {
    const { initKeys } = await import('../keys.js');
    process.exitCode = await initKeys(contextOf(init));
  });
  const list = new Command('list')
    .description('Shows the trust store: whose signatures count.')
    .option('--json', 'print the trust store as it is')
    .addHelpText('after', examples(['truss keys list --db truss.db', '']));
  list.action(async (flags: { json?: boolean }) => {
    const { listKeys } = await import('../keys.js');
    process.exitCode = await listKeys(flags, contextOf(list));
  });
  return command.addCommand(init).addCommand(list);
}
