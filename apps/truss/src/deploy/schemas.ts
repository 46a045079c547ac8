import { type DeployedSchema, deploySchemas } from '#lib/schemas';
import { type ConfigFlags, readConfig } from '#lib/service';
import { EXIT, type ExitCode } from '../exit-codes.js';
import type { Terminal } from '../terminal.js';

/** `truss deploy schemas`: says of each subject what was done. @throws ConfigError, SchemaError */
export async function runDeploySchemas(flags: ConfigFlags, { out }: Pick<Terminal, 'out'>): Promise<ExitCode> {
  const { registry, prefix } = readConfig(process.env, flags, { parts: ['registry'] });
  const done = await deploySchemas({ registry, prefix });
  const width = Math.max(...done.map(({ subject }) => subject.length));
  await out.write(done.map((one) => `${lineOf(one, width)}\n`).join(''));
  return EXIT.done;
}

function lineOf({ subject, did, id, raisedFrom }: DeployedSchema, width: number): string {
  const level = raisedFrom === null ? '' : `, compatibility BACKWARD_TRANSITIVE (was ${raisedFrom})`;
  return `${subject.padEnd(width)}  ${did}: schema ${id}${level}`;
}
