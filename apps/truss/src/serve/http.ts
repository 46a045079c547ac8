import { Controller, Get, HttpException, HttpStatus, Inject, Module, type DynamicModule, Header } from '@nestjs/common';
import type { Health, HealthAnswer, Metrics } from '#lib/service';

const HEALTH = Symbol('truss.health');
const METRICS = Symbol('truss.metrics');

@Controller()
class StatusController {
  constructor(
    @Inject(HEALTH) private readonly health: Health,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  @Get('health/live')
  live(): HealthAnswer {
    return answered(this.health.live());
  }

  @Get('health/ready')
  async ready(): Promise<HealthAnswer> {
    return answered(await this.health.ready());
  }

  @Get('metrics')
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  text(): Promise<string> {
    return this.metrics.text();
  }
}

function answered(answer: HealthAnswer): HealthAnswer {
  if (!answer.ok) throw new HttpException({ ...answer }, HttpStatus.SERVICE_UNAVAILABLE);
  return answer;
}

/** `/health/live`, `/health/ready` and `/metrics`. */
@Module({})
export class StatusModule {
  static with(health: Health, metrics: Metrics): DynamicModule {
    return {
      module: StatusModule,
      controllers: [StatusController],
      providers: [
        { provide: HEALTH, useValue: health },
        { provide: METRICS, useValue: metrics },
      ],
    };
  }
}
