export * from './errors.js';
export * from './key-store.js';
