import type { Redis } from 'ioredis';
import type { Leases } from '../port.js';
import { within } from './deadline.js';

export interface RedisLeasesOptions {
  /** Of the deployment; keys are `<prefix>lease:<name>` and `<prefix>leases`. */
  readonly prefix: string;
  /** How long a call may take. */
  readonly deadlineMs?: number;
  /** Told of every call that failed. */
  readonly fault?: (error: unknown) => void;
  /** Milliseconds on a clock that does not go back. */
  readonly now?: () => number;
}

// KEYS: the lease, the time since when the store knows. ARGV: holder, ttl in ms, 1 for a take-over.
// All times are Redis's own. A clock that went back begins the waiting anew: that costs one lease time, and never a double run.
const HOLD = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local since = tonumber(redis.call('GET', KEYS[2]) or now + 1)
if since > now then
  since = now
  redis.call('SET', KEYS[2], now)
end
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
if not holder and ARGV[3] == '1' and now < since + ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/**
 * Leases in Redis. While Redis cannot be asked, the answers are those that lose no truth and little money: fresh work goes on (the log
 * lets one of two beginners begin), what runs goes on, and nobody takes over, neither then nor for one `ttlMs` after, in which whoever is
 * alive renews. Never rejects.
 * @param redis from `openRedis`
 */
export function createRedisLeases(redis: Redis, options: RedisLeasesOptions): Leases {
  const { prefix, deadlineMs = 1_000, fault = () => {}, now = () => performance.now() } = options;
  const key = (name: string) => `${prefix}lease:${name}`;
  /** What was granted here and not given back: its next `hold` is a renewal, though a store that came back empty does not know it. */
  const granted = new Map<string, string>();
  /** The last call for a lease that is under way, unless it was given back since: its answer must not be remembered then. */
  const asking = new Map<string, symbol>();
  let lostAt = Number.NEGATIVE_INFINITY;
  redis.on('close', () => {
    lostAt = now();
  });

  async function ask(script: string, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    try {
      return await within(deadlineMs, redis.eval(script, keys.length, ...keys, ...values));
    } catch (error) {
      lostAt = now();
      fault(error);
      return 'unknown';
    }
  }

  return {
    async hold(name, holder, ttlMs, begun) {
      const renewal = granted.get(name) === holder;
      const takeOver = begun && !renewal;
      if (takeOver && now() < lostAt + ttlMs) return false;
      const call = Symbol(name);
      asking.set(name, call);
      const answer = await ask(HOLD, [key(name), `${prefix}leases`], [holder, ttlMs, takeOver ? 1 : 0]);
      const held = answer === 'unknown' ? !takeOver : answer === 1;
      if (asking.get(name) === call) {
        asking.delete(name);
        if (held) granted.set(name, holder);
        else granted.delete(name);
      }
      return held;
    },
    async release(name, holder) {
      if (granted.get(name) === holder) granted.delete(name);
      asking.delete(name);
      await ask(RELEASE, [key(name)], [holder]);
    },
  };
}
