import type { Logger } from 'pino';
import { LogError } from '#lib/event-log';
import { checkTopics } from '#lib/event-log/kafka';
import type { ServiceRole } from '#lib/key-store';
import {
  type Config,
  createLogger,
  createMetrics,
  Health,
  kafkaObserver,
  logObserver,
  openTracing,
  readConfig,
  redactor,
  secretsOf,
  stopInOrder,
} from '#lib/service';
import type { Context } from '../commands/context.js';
import { openDistributed } from '../distributed.js';
import { EXIT, type ExitCode, usageError } from '../exit-codes.js';
import { SOFTWARE } from '../software.js';
import { checksOf } from './checks.js';
import { clusterPorts } from './ports.js';
import { startService } from './service.js';

/** All of a stop: what orchestrators give before they kill is longer. */
const STOP_MS = 10_000;
/** Leases and views; a coordinator has neither. */
const NEED_REDIS: readonly ServiceRole[] = ['executor', 'projector'];

type Serving = Config<'kafka' | 'registry' | 'trust'>;

/**
 * `truss serve`: serves the roles until a signal (exit code 0), or until it cannot go on (1).
 * @throws ConfigError, KeyStoreError, SchemaError, LogError, CliError where it cannot begin
 */
export async function runServe(
  roles: readonly ServiceRole[],
  { cluster }: Pick<Context, 'cluster'>,
): Promise<ExitCode> {
  const name = roles.length === 1 ? `truss-${roles[0]}` : 'truss';
  const redis = roles.some((role) => NEED_REDIS.includes(role)) ? (['redis'] as const) : [];
  const config: Serving = readConfig(process.env, cluster ?? {}, {
    parts: ['kafka', 'registry', 'trust', ...redis],
    roles,
    clientId: name,
  });
  const secrets = [...config.secrets, ...secretsOf(process.env)];
  const logger = createLogger({ level: config.logLevel, service: name, secrets });
  for (const warning of config.warnings) logger.warn(warning);
  try {
    return await serve(roles, name, config, logger);
  } catch (error) {
    // It is printed, and what a library says of a connection may hold what the connection was made with.
    if (error instanceof Error) error.message = redactor(secrets)(error.message);
    throw error;
  }
}

async function serve(roles: readonly ServiceRole[], name: string, config: Serving, logger: Logger): Promise<ExitCode> {
  const { kafka: connection, prefix } = config;
  const { minInsyncReplicas } = config.topics;
  const reasons = await checkTopics({ connection, prefix, minInsyncReplicas });
  if (reasons.length > 0) {
    const list = reasons.map((reason) => `  ${reason}`).join('\n');
    throw usageError(`the topics of this cluster are not fit to serve on:\n${list}`);
  }
  const metrics = createMetrics({ now: () => Date.now(), lag: () => distributed.lag() });
  const tracing = await openTracing(config.otlp, { service: name, version: SOFTWARE.truss });
  const distributed = await openDistributed(config, {
    fatal: (error) => stopping.fatal(error),
    writes: 'from the start',
    observe: kafkaObserver(logger, metrics),
    redisFault: (err) => logger.warn({ err }, 'the connection to Redis has a fault'),
  });
  const health = new Health(checksOf(distributed, config));
  const stopping = stopInOrder({
    logger,
    deadlineMs: STOP_MS,
    exit: (code) => process.exit(code),
    signals: process,
    began(fault) {
      health.stopping();
      if (fault !== null) health.failed(fault instanceof Error ? fault.message : 'an unknown fault');
    },
    async stop() {
      await service.then((up) => up.stop());
      await distributed.close();
      await tracing.close();
    },
  });
  // A fault of ours: in the log like any other, and not in a form of its own on stderr.
  process.on('uncaughtException', stopping.fatal);
  const fatal = (error: unknown): void => {
    // What still wants to write while everything stops is refused by the closed log, and done by the next process.
    if (!(error instanceof LogError && error.code === 'log_closed')) stopping.fatal(error);
  };
  const service = clusterPorts(roles, config, distributed, logger, fatal).then((ports) =>
    startService({ roles, ports, observers: [logObserver(logger)], tracing, health, metrics, http: config.http }),
  );
  try {
    const { url } = await service;
    if (roles.includes('coordinator')) {
      distributed
        .guard()
        .catch((err: unknown) => logger.warn({ err }, 'nobody here looks for poison on internal topics'));
    }
    logger.info({ roles, url, prefix, version: SOFTWARE.truss }, 'serving');
  } catch (error) {
    await distributed.close();
    throw error;
  }
  return (await stopping.ended) === 0 ? EXIT.done : EXIT.unexpected;
}
