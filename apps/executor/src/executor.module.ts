import { Module } from '@nestjs/common';
import { ExecutorService } from './executor.service.js';

/** Child-run command -> child ledger. Needs a `RuntimeModule`. */
@Module({ providers: [ExecutorService] })
export class ExecutorModule {}
