/** For tests of others: the log that ends with its process. */
export { createMemoryLog, MemoryStore } from './memory.js';
