export * from './actions.js';
export * from './decide.js';
