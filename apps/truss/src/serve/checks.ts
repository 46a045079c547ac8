import { pingRegistry } from '#lib/schemas';
import type { Check, Config } from '#lib/service';
import type { Distributed } from '../distributed.js';

/** What a service needs before it is ready: its partitions and all that stands in them, and answers from what it depends on. */
export function checksOf(distributed: Distributed, { registry }: Config<'registry'>): Record<string, Check> {
  const { redis } = distributed;
  return {
    kafka: () =>
      distributed.ready()
        ? null
        : 'is not assigned, is not caught up, or is given nothing of what stands in its partitions',
    registry: () => pingRegistry(registry),
    ...(redis === null ? {} : { redis: async () => ((await redis.ping()) === 'PONG' ? null : 'does not answer') }),
  };
}
