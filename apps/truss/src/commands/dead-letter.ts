import { Command } from 'commander';
import { wholeNumber } from '../numbers.js';
import { clusterContextOf } from './cluster-only.js';
import { examples } from './context.js';

export function deadLetterCommand(): Command {
  const list = new Command('list')
    .description('Shows the records that could not be used, the oldest first.')
    .option('--last <n>', 'so many, the newest', wholeNumber(1, 100_000), 100)
    .option('--json', 'one JSON object a line')
    .addHelpText('after', examples(['truss dead-letter list --last 20', '']));
  list.action(async (flags: { json?: boolean; last: number }) => {
    const { listLetters } = await import('../dead-letter/run.js');
    process.exitCode = await listLetters(flags, clusterContextOf(list));
  });
  const show = new Command('show')
    .description('Prints all that is known of one as JSON: what came, where, and what is wrong with it.')
    .argument('<id>', 'as `truss dead-letter list` shows it')
    .addHelpText('after', examples(['truss dead-letter show 0/12', '']));
  show.action(async (id: string) => {
    const { showLetter } = await import('../dead-letter/run.js');
    process.exitCode = await showLetter(id, clusterContextOf(show));
  });
  const retry = new Command('retry')
    .description('Puts one where it came from once more, once what was wrong is right.')
    .argument('<id>', 'as `truss dead-letter list` shows it')
    .addHelpText('after', examples(['truss dead-letter retry 0/12', '']));
  retry.action(async (id: string) => {
    const { retryLetter } = await import('../dead-letter/run.js');
    process.exitCode = await retryLetter(id, clusterContextOf(retry));
  });
  return new Command('dead-letter')
    .summary('look at what a cluster could not use')
    .description('The records that the services of a cluster could not use, with the reason of each.')
    .addHelpText('after', examples(['truss dead-letter list', '']))
    .addCommand(list)
    .addCommand(show)
    .addCommand(retry);
}
