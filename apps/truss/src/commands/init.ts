import { Command } from 'commander';
import type { StartKind } from '../init/run.js';
import { oneOf } from '../numbers.js';
import { contextOf, examples } from './context.js';

export function initCommand(): Command {
  const command = new Command('init')
    .summary('write a contract to start from, and check it')
    .description(
      'Writes a commented contract with all that it needs, for a program, for a model behind an endpoint, or for a coding\n' +
        "agent's command line, and checks that it loads; the program's is run once as well. Nothing is overwritten.",
    )
    .argument('[dir]', 'the folder to write to', '.')
    .option(
      '--kind <kind>',
      'what is evaluated: command, endpoint, coding-agent',
      oneOf('command', 'endpoint', 'coding-agent'),
      'command',
    )
    .addHelpText('after', examples(['truss init my-eval', ''], ['truss init --kind coding-agent my-eval', '']));
  return command.action(async (folder: string, { kind }: { kind: StartKind }) => {
    const { runInit } = await import('../init/run.js');
    process.exitCode = await runInit(folder, kind, contextOf(command));
  });
}
