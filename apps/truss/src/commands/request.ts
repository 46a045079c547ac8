import { Command } from 'commander';
import type { RequestFlags } from '../request/run.js';
import { archiveOption, audienceOption, clusterContextOf, keyOption } from './cluster-only.js';
import { examples } from './context.js';
import { planOptions, requestId } from './plan-options.js';

export function requestCommand(): Command {
  const command = new Command('request')
    .summary('ask the services of a cluster for an evaluation')
    .description(
      'Asks the services of a cluster for an evaluation, and prints its id; with --wait its report, as `truss eval` does.\n' +
        'With a requester key the contract goes with the request; without one it must be registered (`truss contracts register`).',
    )
    .requiredOption('--contract <file>', 'the contract to evaluate (TOML)');
  planOptions(command)
    .addOption(keyOption())
    .option('--requester <name>', 'who asks, where no key says it')
    .addOption(audienceOption())
    .option('--registered', 'ask by id and digest, though there is a key')
    .addOption(archiveOption())
    .option('--request-id <id>', 'the same id and content always name the same evaluation', requestId)
    .option('--wait', 'follow it to its report')
    .addHelpText(
      'after',
      examples(
        ['truss request --brokers kafka:9092 --contract my.toml --repeats 8 --key requester-ana.key --wait', ''],
        ['truss request --contract registered.toml --requester ci --request-id "$CI_RUN" --wait --gate', ''],
      ),
    );
  return command.action(async (flags: RequestFlags) => {
    const { runRequest } = await import('../request/run.js');
    process.exitCode = await runRequest(flags, clusterContextOf(command));
  });
}
