import { Command, InvalidArgumentError, Option } from 'commander';
import type { AddFlags } from '../keys.js';
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
  const add = new Command('add')
    .description(
      'Adds a key to a trust store: it makes one for NAME, or takes the public key of one that is kept elsewhere.\n' +
        'A requester signs requests to a cluster and registers contracts; its requests carry NAME.',
    )
    .argument('<name>', 'who holds it', keyName)
    .addOption(
      new Option('--role <role>', 'what it signs')
        .choices(['requester', 'coordinator', 'executor', 'projector'])
        .default('requester'),
    )
    .option('--public-key <hex>', 'a public key, whose private half stays where it is')
    .addOption(
      new Option('--trust <file>', 'the trust store, where it is not that of a database').env('TRUSS_TRUST_FILE'),
    )
    .option('-o, --output <file>', 'where the private key goes; beside the trust store, unless you say so')
    .addHelpText(
      'after',
      examples(
        ['truss keys add ana', 'makes requester-ana.key'],
        ['truss keys add ci --trust /etc/truss/trust.json --public-key 3b6a27bc…', ''],
      ),
    );
  add.action(async (name: string, flags: AddFlags) => {
    const { addKeys } = await import('../keys.js');
    process.exitCode = await addKeys(name, flags, contextOf(add));
  });
  return command.addCommand(init).addCommand(list).addCommand(add);
}

/** It stands in the name of a file too. */
function keyName(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text)) return text;
  throw new InvalidArgumentError(
    'Expected 1 to 100 letters, digits, dots, dashes and underscores, the first a letter or digit.',
  );
}
