export * from './acceptance.js';
export * from './consume.js';
export * from './core-host.js';
export * from './ports.js';
export * from './runtime.module.js';
export * from './views.js';
export * from './writer.js';
