import { type DynamicModule, Module } from '@nestjs/common';
import { PORTS, type Ports } from './ports.js';
import { EvaluationViews } from './views.js';

/** Gives every service of the process its ports and the one fold of each evaluation that they share. */
@Module({})
export class RuntimeModule {
  static with(ports: Ports, views = new EvaluationViews(ports)): DynamicModule {
    return {
      module: RuntimeModule,
      global: true,
      providers: [
        { provide: PORTS, useValue: ports },
        { provide: EvaluationViews, useValue: views },
      ],
      exports: [PORTS, EvaluationViews],
    };
  }
}
