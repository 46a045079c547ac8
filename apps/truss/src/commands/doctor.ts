import { Command } from 'commander';
import { contextOf, examples } from './context.js';

export function doctorCommand(): Command {
  const command = new Command('doctor')
    .summary('check that this machine and database are fit to use')
    .description(
      'Looks at Node, SQLite, the database, its keys, the disk and the example. Changes nothing; exits 2 when something must be mended.',
    )
    .addHelpText('after', examples(['truss doctor --db truss.db', '']));
  return command.action(async () => {
    const { runDoctor } = await import('../doctor.js');
    process.exitCode = await runDoctor(contextOf(command));
  });
}
