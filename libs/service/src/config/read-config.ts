import type { RedisConnection } from '#lib/event-log/redis';
import type { ServiceRole } from '#lib/key-store';
import type { RegistryConnection } from '#lib/schemas';
import { join } from 'node:path';
import { z } from 'zod';
import { otlpOf, type OtlpSettings, redisOf, registryOf } from './endpoints.js';
import { type KafkaConnection, kafkaOf } from './kafka.js';
import { type ConfigFlags, SettingsReader } from './reader.js';
import { type FileSettings, filesOf, type RequestSettings, requestsOf } from './requests.js';
import { durationMs, whole } from './values.js';

/** The parts of the world that a process may need. */
interface Parts {
  readonly kafka: KafkaConnection;
  readonly registry: RegistryConnection;
  readonly redis: RedisConnection;
  /** The file of the trust store. */
  readonly trust: string;
}
export type Part = keyof Parts;

export interface ServiceSettings {
  readonly prefix: string;
  readonly topics: {
    readonly partitions: number;
    /** `null`: as `truss deploy topics` finds right. */
    readonly replication: number | null;
    readonly minInsyncReplicas: number;
  };
  /** Of the private key of each role; `null` where none is set. */
  readonly keyFiles: Readonly<Record<ServiceRole, string | null>>;
  /** Runs under way at once in an executor. */
  readonly concurrency: number;
  readonly leaseMs: number;
  /** Of the members of consumer groups. */
  readonly sessionMs: number;
  readonly http: { readonly host: string; readonly port: number };
  readonly logLevel: LogLevel;
  /** Where traces go; `null`: nowhere. */
  readonly otlp: OtlpSettings | null;
  readonly requests: RequestSettings;
  readonly files: FileSettings;
  /** Every value that must never be shown. */
  readonly secrets: readonly string[];
  /** What works and should not stay so; to be logged at the start. */
  readonly warnings: readonly string[];
}

/** What a process that needs the parts P knows of the world. The parts that it does not need are there where they are configured. */
export type Config<P extends Part = never> = ServiceSettings & Pick<Parts, P> & Partial<Parts>;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const ROLES = {
  coordinator: 'TRUSS_COORDINATOR_KEY_FILE',
  executor: 'TRUSS_EXECUTOR_KEY_FILE',
  projector: 'TRUSS_PROJECTOR_KEY_FILE',
} as const;

export interface Need<P extends Part> {
  readonly parts: readonly P[];
  /** Whose private keys must be there. */
  readonly roles?: readonly ServiceRole[];
  /** As brokers and servers see this process. */
  readonly clientId?: string;
}

/**
 * The configuration from the environment, in which the flags win. Reads the files that hold secrets and certificates, and no keys of roles.
 * @throws ConfigError with every problem at once
 */
export function readConfig<P extends Part>(
  env: Readonly<Record<string, string | undefined>>,
  flags: ConfigFlags,
  { parts, roles = [], clientId = 'truss' }: Need<P>,
): Config<P> {
  const reader = new SettingsReader({ ...inFolder(env['TRUSS_KEYS']), ...onlySet(env) }, flags);
  const warnings: string[] = [];
  const needed: ReadonlySet<Part> = new Set(parts);
  if (needed.has('kafka')) reader.required('TRUSS_BROKERS', 'host:port, or several with commas between them');
  if (needed.has('registry')) reader.required('TRUSS_REGISTRY', 'a URL such as https://host:port');
  if (needed.has('redis')) reader.required('TRUSS_REDIS', 'a URL such as rediss://user@host:port');
  if (needed.has('trust')) reader.required('TRUSS_TRUST_FILE', 'the path of trust.json');
  for (const role of roles) reader.required(ROLES[role], `the path of the private key of the ${role}`);

  const kafka = kafkaOf(reader, warnings);
  const found: Partial<Parts> = {
    ...defined('kafka', kafka && { ...kafka, clientId }),
    ...defined('registry', registryOf(reader, warnings)),
    ...defined('redis', redisOf(reader, warnings, clientId)),
    ...defined('trust', reader.text('TRUSS_TRUST_FILE')),
  };
  const settings: ServiceSettings = {
    prefix:
      reader.parsed('TRUSS_PREFIX', z.string().regex(/^[A-Za-z0-9._-]{1,100}$/), 'up to 100 of A-Z a-z 0-9 . _ -') ??
      '',
    topics: {
      partitions: reader.parsed('TRUSS_PARTITIONS', whole(1, 10_000), 'a whole number from 1 to 10000') ?? 12,
      replication: reader.parsed('TRUSS_REPLICATION', whole(1, 100), 'a whole number from 1 to 100') ?? null,
      minInsyncReplicas: reader.parsed('TRUSS_MIN_INSYNC_REPLICAS', whole(1, 100), 'a whole number from 1 to 100') ?? 1,
    },
    keyFiles: {
      coordinator: reader.text(ROLES.coordinator) ?? null,
      executor: reader.text(ROLES.executor) ?? null,
      projector: reader.text(ROLES.projector) ?? null,
    },
    concurrency: reader.parsed('TRUSS_CONCURRENCY', whole(1, 1024), 'a whole number from 1 to 1024') ?? 4,
    leaseMs: reader.parsed('TRUSS_LEASE_TIME', durationMs(1_000, 600_000), '1s to 10m, such as 10s') ?? 10_000,
    sessionMs: reader.parsed('TRUSS_SESSION_TIMEOUT', durationMs(1_000, 600_000), '1s to 10m, such as 10s') ?? 10_000,
    http: {
      host: reader.text('TRUSS_HTTP_HOST') ?? '127.0.0.1',
      port: reader.parsed('TRUSS_HTTP_PORT', whole(0, 65_535), 'a port from 0 to 65535') ?? 9464,
    },
    logLevel: reader.parsed('TRUSS_LOG_LEVEL', z.enum(LOG_LEVELS), LOG_LEVELS.join(', ')) ?? 'info',
    otlp: otlpOf(reader),
    requests: requestsOf(reader),
    files: filesOf(reader),
    secrets: reader.secrets,
    warnings,
  };
  reader.check();
  return { ...settings, ...found } as Config<P>;
}

/** What the folder of keys stands for. */
function inFolder(folder: string | undefined): Record<string, string> {
  if (folder === undefined || folder.trim() === '') return {};
  const files: Record<string, string> = { TRUSS_TRUST_FILE: join(folder.trim(), 'trust.json') };
  for (const [role, name] of Object.entries(ROLES)) files[name] = join(folder.trim(), `${role}.key`);
  return files;
}

function onlySet(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => (value ?? '').trim() !== ''));
}

function defined<K extends Part>(part: K, value: Parts[K] | undefined): Partial<Parts> {
  return value === undefined ? {} : { [part]: value };
}
