export * from './effects.js';
export * from './offsets.js';
export * from './owner.js';
export * from './projection.js';
export * from './run.js';
