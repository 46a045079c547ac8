import { Command } from 'commander';
import type { ConfigFlags } from '#lib/service';
import { examples, theTerminal } from './context.js';

export function deployCommand(): Command {
  const command = new Command('deploy')
    .summary('prepare a cluster: its topics, its schemas and its index')
    .description('Prepares a cluster for the services, which only look at what is there. Safe to call again.')
    .addHelpText(
      'after',
      examples(
        ['truss deploy topics --brokers kafka:9092', ''],
        ['truss deploy schemas --registry http://registry:8081', ''],
      ),
    );
  return command.addCommand(topicsCommand()).addCommand(schemasCommand()).addCommand(indexCommand());
}

function topicsCommand(): Command {
  const command = new Command('topics')
    .description(
      'Creates the topics that are missing: the ledger without limit of time or size, the rest as docs/operations.md says.\n' +
        'Says where a topic that is there differs from that; changes and deletes nothing.',
    )
    .addHelpText(
      'after',
      examples(
        ['truss deploy topics --brokers kafka:9092', ''],
        ['TRUSS_REPLICATION=3 TRUSS_MIN_INSYNC_REPLICAS=2 truss deploy topics --brokers kafka:9092', ''],
      ),
    );
  return command.action(async () => {
    const { runDeployTopics } = await import('../deploy/topics.js');
    process.exitCode = await runDeployTopics(flagsOf(command), theTerminal());
  });
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

function indexCommand(): Command {
  const command = new Command('index')
    .description(
      'Makes eval.index complete by one pass over the ledger, and marks it so: after a restore, or when the index was lost.\n' +
        'Stop the services first: they refuse to start without the mark, and nothing may be begun meanwhile.',
    )
    .addHelpText('after', examples(['truss deploy index --brokers kafka:9092 --registry http://registry:8081', '']));
  return command.action(async () => {
    const { runDeployIndex } = await import('../deploy/index.js');
    process.exitCode = await runDeployIndex(flagsOf(command), theTerminal());
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
