import { Command } from 'commander';
import type { ConfigFlags } from '#lib/service';
import { examples, theTerminal } from './context.js';

export function deployCommand(): Command {
  const command = new Command('deploy')
    .summary('prepare a cluster: its schemas')
    .description('Prepares a cluster for the services, which only look at what is there. Safe to call again.')
    .addHelpText('after', examples(['truss deploy schemas --registry http://registry:8081', '']));
  return command.addCommand(schemasCommand());
}

function schemasCommand(): Command {
  const command = new Command('schemas')
    .description(
      'Registers the schema of every topic under <prefix><topic>-value, with compatibility BACKWARD_TRANSITIVE.\n' +
        'A schema that cannot read what was written before is refused. Run it before services of a new version start.',
    )
    .addHelpText(
      'after',
      examples(
        ['truss deploy schemas --registry http://registry:8081', ''],
        ['TRUSS_REGISTRY=https://registry:8081 TRUSS_REGISTRY_PASSWORD_FILE=secret truss deploy schemas', ''],
      ),
    );
  return command.action(async () => {
    const { runDeploySchemas } = await import('../deploy/schemas.js');
    process.exitCode = await runDeploySchemas(flagsOf(command), theTerminal());
  });
}

/** A deployment works on a cluster whatever else is set. */
function flagsOf(command: Command): ConfigFlags {
  const { brokers, registry, prefix } = command.optsWithGlobals<ConfigFlags>();
  return {
    ...(brokers === undefined ? {} : { brokers }),
    ...(registry === undefined ? {} : { registry }),
    ...(prefix === undefined ? {} : { prefix }),
  };
}
