import { Command } from 'commander';
import { contextOf, examples } from './context.js';

export function exportCommand(): Command {
  const command = new Command('export')
    .summary('write an evaluation to a file that others can check')
    .description(
      'Writes every signed entry of an evaluation and of its runs, and every attachment they name, as JSON lines:\n' +
        'DSSE envelopes in the order of the log. `truss verify --bundle` checks it with nothing but the trust store.',
    )
    .argument('<id>', 'the evaluation')
    .requiredOption('-o, --output <file>', 'the file to write')
    .addHelpText('after', examples(['truss export ev_0123456789abcdef0123456789abcdef -o eval.jsonl', '']));
  return command.action(async (id: string, flags: { output: string }) => {
    const { runExport } = await import('../bundle/write.js');
    process.exitCode = await runExport(id, flags, contextOf(command));
  });
}
