import { openRedis, redisReady, type RedisConnection } from '#lib/event-log/redis';
import { type ConfigFlags, readConfig } from '#lib/service';
import { type Views, ViewsError } from '#lib/views';
import { createRedisViews } from '#lib/views/redis';
import type { Context } from '../commands/context.js';
import { openDistributed } from '../distributed.js';
import { type ExitCode, usageError } from '../exit-codes.js';
import { type RebuildFlags, runRebuild, runStatus } from './rebuild.js';

const CONNECT_MS = 10_000;
/** Nobody waits for a rebuild as one waits for an answer. */
const BUILD_DEADLINE_MS = 60_000;

type Given = Pick<Context, 'cluster' | 'terminal'>;

/** `truss views rebuild`. @throws ConfigError, KeyStoreError, SchemaError, LogError, ViewsError */
export async function rebuildViews(flags: RebuildFlags, { cluster, terminal }: Given): Promise<ExitCode> {
  const config = readConfig(process.env, named(cluster), {
    parts: ['kafka', 'registry', 'redis', 'trust'],
    clientId: 'truss-cli',
  });
  const ended = Promise.withResolvers<never>();
  return withViews(config.redis, config.prefix, async (views) => {
    const { log, keys, scan, close } = await openDistributed(config, { fatal: ended.reject });
    try {
      const attachment = (sha256: string) => log.attachment(sha256);
      const ports = { views, keys, attachment, scan: scan() };
      return await Promise.race([runRebuild(flags, ports, terminal), ended.promise]);
    } finally {
      await close();
    }
  });
}

/** `truss views status`: asks Redis alone. @throws ConfigError, ViewsError */
export async function viewsStatus(flags: { json?: boolean }, { cluster, terminal }: Given): Promise<ExitCode> {
  const config = readConfig(process.env, named(cluster), { parts: ['redis'], clientId: 'truss-cli' });
  return withViews(config.redis, config.prefix, (views) => runStatus(flags, views, terminal));
}

function named(cluster: ConfigFlags | null): ConfigFlags {
  if (cluster !== null) return cluster;
  throw usageError(
    'views are what a cluster keeps in its Redis, and a database has none: name the cluster by --brokers, --registry and --redis',
  );
}

async function withViews<T>(
  connection: RedisConnection,
  prefix: string,
  work: (views: Views) => Promise<T>,
): Promise<T> {
  const redis = openRedis(connection);
  try {
    await redisReady(redis, CONNECT_MS).catch((cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new ViewsError('views_unavailable', `Redis cannot be reached (${why}): check --redis`, { cause });
    });
    return await work(createRedisViews(redis, { prefix, deadlineMs: BUILD_DEADLINE_MS }));
  } finally {
    redis.disconnect();
  }
}
