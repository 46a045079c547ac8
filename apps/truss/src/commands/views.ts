import { Command } from 'commander';
import { contextOf, examples } from './context.js';

const CLUSTER = '--brokers kafka:9092 --registry http://registry:8081 --redis redis://cache:6379';

export function viewsCommand(): Command {
  const command = new Command('views')
    .summary('look after the views that a cluster keeps in its Redis')
    .description('The views are folded from the ledgers: what is lost of them is folded again.')
    .addHelpText('after', examples([`truss views rebuild ${CLUSTER}`, '']));
  const rebuild = new Command('rebuild')
    .description(
      'Builds the views anew from the whole log, beside those that are shown, and says how the two differ.\n' +
        'Then it shows the new ones, all at once. The services go on meanwhile.',
    )
    .option('--dry-run', 'compare, and change nothing')
    .option('--json', 'one JSON object a line for each difference')
    .addHelpText('after', examples([`truss views rebuild ${CLUSTER}`, '']));
  rebuild.action(async (flags: { dryRun?: boolean; json?: boolean }) => {
    const { rebuildViews } = await import('../views/run.js');
    process.exitCode = await rebuildViews(flags, contextOf(rebuild));
  });
  const status = new Command('status')
    .description('Says which version of the views is shown, and whether another is being built.')
    .option('--json', 'as one JSON object')
    .addHelpText('after', examples(['truss views status --redis redis://cache:6379', '']));
  status.action(async (flags: { json?: boolean }) => {
    const { viewsStatus } = await import('../views/run.js');
    process.exitCode = await viewsStatus(flags, contextOf(status));
  });
  return command.addCommand(rebuild).addCommand(status);
}
