export { ProjectorModule } from './projector.module.js';
