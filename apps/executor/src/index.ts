export { ExecutorModule } from './executor.module.js';
