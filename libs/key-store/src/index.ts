export * from './add-key.js';
export * from './errors.js';
export * from './key-store.js';
