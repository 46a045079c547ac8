export { openRedis, redisReady, type RedisConnection, type RedisOptions } from './connection.js';
export { DeadlineError, within } from './deadline.js';
export { createRedisLeases, type RedisLeasesOptions } from './leases.js';
