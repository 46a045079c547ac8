import { Command } from 'commander';
import type { RegisterFlags } from '../contracts/run.js';
import { archiveOption, audienceOption, clusterContextOf, keyOption } from './cluster-only.js';
import { examples, theTerminal } from './context.js';

export function contractsCommand(): Command {
  const register = new Command('register')
    .description(
      'Registers a contract with its files, so that it may be asked for by its id and digest, without a signature.',
    )
    .argument('<file>', 'the contract (TOML)')
    .addOption(keyOption().makeOptionMandatory())
    .addOption(audienceOption())
    .addOption(archiveOption())
    .addHelpText('after', examples(['truss contracts register my.toml --key requester-ana.key', '']));
  register.action(async (file: string, flags: RegisterFlags) => {
    const { registerContract } = await import('../contracts/run.js');
    process.exitCode = await registerContract(file, flags, clusterContextOf(register));
  });
  const list = new Command('list')
    .description('Shows the contracts that are registered.')
    .addOption(audienceOption())
    .option('--json', 'one JSON object a line')
    .addHelpText('after', examples(['truss contracts list', '']));
  list.action(async (flags: { json?: boolean; audience: string }) => {
    const { listContracts } = await import('../contracts/run.js');
    process.exitCode = await listContracts(flags, clusterContextOf(list));
  });
  const pack = new Command('pack')
    .description('Writes the archive of a contract that is too large to be sent, to be put where the services read it.')
    .argument('<file>', 'the contract (TOML)')
    .requiredOption('-o, --output <file>', 'where to write it')
    .addHelpText('after', examples(['truss contracts pack my.toml -o my.tar.gz', '']));
  pack.action(async (file: string, { output }: { output: string }) => {
    const { packTo } = await import('../contracts/run.js');
    process.exitCode = await packTo(file, output, { terminal: theTerminal() });
  });
  return new Command('contracts')
    .summary('register contracts with a cluster, or show them')
    .description('The contracts that a cluster runs for whoever asks.')
    .addHelpText('after', examples(['truss contracts list', '']))
    .addCommand(register)
    .addCommand(list)
    .addCommand(pack);
}
