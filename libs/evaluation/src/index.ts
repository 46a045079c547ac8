export * from './child-state.js';
export * from './decide.js';
export * from './draw.js';
export * from './request.js';
export * from './schedule.js';
export * from './state.js';
