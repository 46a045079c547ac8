import { Module } from '@nestjs/common';
import { ProjectorService } from './projector.service.js';

/** Ledgers -> signed EvalReport, `eval.report`. Needs a `RuntimeModule`. */
@Module({ providers: [ProjectorService] })
export class ProjectorModule {}
