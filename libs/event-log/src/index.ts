export { createMemoryLeases } from './memory.js';
export { isDriven } from './is-driven.js';
export * from './port.js';
export type { OpenLog } from './store-log.js';
export { openSqliteLog, type SqliteLogOptions } from './sqlite.js';
