export { ConfigError, type ConfigProblem } from './config/errors.js';
export { type Config, type LogLevel, type Part, readConfig, type ServiceSettings } from './config/read-config.js';
export type { ConfigFlags } from './config/reader.js';
export { VARIABLES } from './config/variables.js';
