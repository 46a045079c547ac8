import { Module } from '@nestjs/common';
import { IntakeService } from './intake.service.js';
import { OwnerService } from './owner.service.js';

/** Requests -> evaluation ledger, child-run commands. Needs a `RuntimeModule`. */
@Module({ providers: [IntakeService, OwnerService] })
export class CoordinatorModule {}
