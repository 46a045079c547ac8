import { once } from 'node:events';
import type { ConnectionOptions } from 'node:tls';
import { Redis } from 'ioredis';
import { DeadlineError } from './deadline.js';

/** How a Redis is reached. */
export interface RedisConnection {
  /** `redis://host:port/db`, or `rediss://` for TLS; credentials may stand in it. */
  readonly url: string;
  /** Of Redis's ACL; wins over the URL. */
  readonly username?: string;
  readonly password?: string;
  /** Certificates of one's own; makes a connection by TLS whatever the URL says. */
  readonly tls?: ConnectionOptions;
  /** As `CLIENT LIST` shows it. */
  readonly name?: string;
}

export interface RedisOptions {
  /** Told of every fault of the connection, which goes on trying. */
  readonly fault?: (error: Error) => void;
}

const LONGEST_PAUSE_MS = 5_000;
/** A connection whose answers stay away so long is given up and made anew. */
const SILENT_MS = 10_000;

/**
 * Opens a connection that comes back by itself. A command that cannot be sent now fails now, and one whose connection is lost fails
 * with it: nothing waits in a queue and is done much later. Does not wait until it is connected.
 */
export function openRedis(connection: RedisConnection, { fault = () => {} }: RedisOptions = {}): Redis {
  const { url, username, password, tls, name } = connection;
  const redis = new Redis(url, {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
    ...(name === undefined ? {} : { connectionName: name }),
    disableClientInfo: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: SILENT_MS,
    socketTimeout: SILENT_MS,
    // Many processes lose a Redis at once, and should not come back at once.
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 10), LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2),
    // After a fail-over the old address may be a replica.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
  redis.on('error', fault);
  return redis;
}

/** Resolves when the connection is ready for commands. @throws DeadlineError, or the first fault of the connection */
export async function redisReady(redis: Redis, deadlineMs: number): Promise<void> {
  if (redis.status === 'ready') return;
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    await once(redis, 'ready', { signal });
  } catch (error) {
    throw signal.aborted ? new DeadlineError(deadlineMs) : error;
  }
}
