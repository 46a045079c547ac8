import { Argument, Command } from 'commander';
import { contextOf, examples } from './context.js';

const ROLES = ['coordinator', 'executor', 'projector'] as const;

export function serveCommand(): Command {
  const command = new Command('serve')
    .summary('serve a cluster: coordinator, executor, projector')
    .description(
      'Serves one or several roles in this process on Kafka, a schema registry and Redis, until SIGTERM.\n' +
        'What it needs is read from the environment: docs/operations.md lists every variable.',
    )
    .addArgument(new Argument('<roles...>', 'what to serve').choices(ROLES))
    .addHelpText(
      'after',
      examples(
        ['truss serve coordinator executor projector', 'everything in one process'],
        ['truss serve executor --brokers kafka:9092 --registry http://registry:8081 --redis redis://cache:6379', ''],
      ),
    );
  return command.action(async (roles: (typeof ROLES)[number][]) => {
    const { runServe } = await import('../serve/run.js');
    process.exitCode = await runServe([...new Set(roles)], contextOf(command));
  });
}
