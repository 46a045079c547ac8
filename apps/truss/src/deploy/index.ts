import { rebuildIndex } from '#lib/event-log/kafka';
import { openCodec } from '#lib/schemas';
import { type ConfigFlags, readConfig } from '#lib/service';
import { EXIT, type ExitCode } from '../exit-codes.js';
import type { Terminal } from '../terminal.js';

/** `truss deploy index`: says how many evaluations there are, and of how many the index did not know. @throws ConfigError, SchemaError, LogError */
export async function runDeployIndex(flags: ConfigFlags, { out }: Pick<Terminal, 'out'>): Promise<ExitCode> {
  const parts = ['kafka', 'registry'] as const;
  const { kafka: connection, registry, prefix } = readConfig(process.env, flags, { parts, clientId: 'truss-deploy' });
  const codec = await openCodec({ registry, prefix });
  const { evaluations, written, partitions } = await rebuildIndex({ connection, prefix, codec });
  await out.write(
    `${prefix}eval.index  complete: ${evaluations} evaluations in ${partitions} partitions, ${written} of them written now\n`,
  );
  return EXIT.done;
}
