import { Command } from 'commander';
import type { CancelFlags } from '../request/cancel.js';
import { audienceOption, keyOption } from './cluster-only.js';
import { contextOf, examples } from './context.js';

export function cancelCommand(): Command {
  const command = new Command('cancel')
    .summary('end an evaluation before its end')
    .description(
      'Closes an evaluation for good. Its runs stay recorded; there will be no report. (Ctrl-C only interrupts.)',
    )
    .argument('<id>', 'the evaluation')
    .option('--reason <text>', 'why, for its ledger', 'cancelled by hand')
    .addOption(keyOption())
    .addOption(audienceOption())
    .addHelpText('after', examples(['truss cancel ev_0123456789abcdef0123456789abcdef --reason "wrong contract"', '']));
  return command.action(async (id: string, flags: CancelFlags) => {
    const context = contextOf(command);
    if (context.cluster === null) {
      const { runCancel } = await import('../cancel.js');
      process.exitCode = await runCancel(id, flags.reason, context);
    } else {
      const { cancelOnCluster } = await import('../request/cancel.js');
      process.exitCode = await cancelOnCluster(id, flags, context);
    }
  });
}
