import type { Command } from 'commander';
import { Option } from 'commander';
import type { Config, ConfigFlags, Part } from '#lib/service';
import { usageError } from './exit-codes.js';

export interface ClusterFlags extends ConfigFlags {
  readonly db: string;
}

/** The options that name a cluster instead of a database. Each has a variable, which is where passwords belong. */
export function clusterOptions(): Option[] {
  return [
    new Option('--brokers <list>', 'a cluster instead of a database: host:port,… (env: TRUSS_BROKERS)'),
    new Option('--registry <url>', 'its schema registry (env: TRUSS_REGISTRY)'),
    new Option('--redis <url>', 'its Redis (env: TRUSS_REDIS)'),
    new Option('--prefix <prefix>', 'what the names of its topics begin with (env: TRUSS_PREFIX)'),
  ];
}

/**
 * The cluster that the command line or the environment names; `null` for a database. `--db` on the command line wins over the environment.
 * @throws CliError where both are on the command line
 */
export function clusterOf(command: Command, env: Readonly<Record<string, string | undefined>>): ConfigFlags | null {
  const { brokers, registry, redis, prefix } = command.optsWithGlobals<ClusterFlags>();
  const db = command.getOptionValueSourceWithGlobals('db') === 'cli';
  const given = brokers ?? registry ?? redis;
  if (given !== undefined && db)
    throw usageError('--db names a database, and --brokers, --registry or --redis a cluster: give one of them');
  if (given === undefined && (db || (env['TRUSS_BROKERS'] ?? '').trim() === '')) return null;
  return {
    ...(brokers === undefined ? {} : { brokers }),
    ...(registry === undefined ? {} : { registry }),
    ...(redis === undefined ? {} : { redis }),
    ...(prefix === undefined ? {} : { prefix }),
  };
}

/** What reading commands need of the configuration. @throws ConfigError */
export async function readingConfig(flags: ConfigFlags): Promise<Config<Exclude<Part, 'redis'>>> {
  const { readConfig } = await import('#lib/service');
  return readConfig(process.env, flags, { parts: ['kafka', 'registry', 'trust'], clientId: 'truss-cli' });
}
