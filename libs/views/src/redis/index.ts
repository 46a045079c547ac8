export type { RedisViewsOptions } from './store.js';
export { createRedisViews } from './views.js';
