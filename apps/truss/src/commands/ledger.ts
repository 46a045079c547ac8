import { Command } from 'commander';
import { contextOf, examples } from './context.js';

export function ledgerCommand(): Command {
  const command = new Command('ledger')
    .summary('show every entry of an evaluation or of one run')
    .description(
      'Shows the ledger of an evaluation and those of its runs, or of one run: the entries from which every number of the report follows.\n' +
        'With --json each line is one entry: its ref, whether it joined its chain, its decoded payload, and the signed DSSE envelope.',
    )
    .argument('<id>', 'an evaluation, or one run of it')
    .option('--json', 'one JSON object for each entry, in log order')
    .addHelpText(
      'after',
      examples(
        ['truss ledger ev_0123456789abcdef0123456789abcdef', 'all of it'],
        ['truss ledger ev_0123456789abcdef0123456789abcdef.0.on.1.2', 'one run'],
        ['truss ledger ev_0123456789abcdef0123456789abcdef --json | jq -c .envelope', 'the signed entries'],
      ),
    );
  return command.action(async (id: string, flags: { json?: boolean }) => {
    const { runLedger } = await import('../ledger/run.js');
    process.exitCode = await runLedger(id, flags, contextOf(command));
  });
}
