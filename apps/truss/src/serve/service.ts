import 'reflect-metadata';
import { type INestApplication, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { CoordinatorModule } from '#app/coordinator';
import { ExecutorModule } from '#app/executor';
import { ProjectorModule } from '#app/projector';
import type { ServiceRole } from '#lib/key-store';
import { EvaluationViews, type Ports, RuntimeModule } from '#lib/runtime';
import { type Health, type Metrics, observed, type Observer, type Tracing } from '#lib/service';
import { usageError } from '../exit-codes.js';
import { StatusModule } from './http.js';

const MODULES: Readonly<Record<ServiceRole, Type>> = {
  coordinator: CoordinatorModule,
  executor: ExecutorModule,
  projector: ProjectorModule,
};

export interface ServiceOptions {
  readonly roles: readonly ServiceRole[];
  /** As the adapters give them: the observers are put around the log, the topics and the leases here. */
  readonly ports: Ports;
  readonly observers: readonly Observer[];
  readonly tracing: Tracing;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly http: { readonly host: string; readonly port: number };
}

export interface Service {
  /** Where health and metrics are. */
  readonly url: string;
  /** Stops intake and finishes or hands back the work. The log is still open after it. */
  stop(): Promise<void>;
}

/** Serves the roles in one application: their modules, and health and metrics by HTTP, which answer before the roles are up. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { roles, ports, tracing, observers, health, metrics, http } = options;
  const seen = { ...ports, ...observed(ports, ports.leases, tracing, [...observers, metrics.observer]) };
  const app = await listen(StatusModule.with(health, metrics), http);

  @Module({ imports: [RuntimeModule.with(seen, new EvaluationViews(seen)), ...roles.map((role) => MODULES[role])] })
  class RolesModule {}

  try {
    const services = await NestFactory.createApplicationContext(RolesModule, { logger: false, abortOnError: false });
    health.serving();
    return {
      url: await app.getUrl(),
      async stop() {
        health.stopping();
        await services.close();
        await app.close();
      },
    };
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function listen(
  status: ReturnType<typeof StatusModule.with>,
  { host, port }: ServiceOptions['http'],
): Promise<INestApplication> {
  // A scraper's idle connection must not hold up the end.
  const adapter = new FastifyAdapter({ forceCloseConnections: true });
  const app = await NestFactory.create(status, adapter, { logger: false, abortOnError: false });
  try {
    await app.listen(port, host);
  } catch (error) {
    await app.close();
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === '') throw error;
    throw usageError(
      `health and metrics cannot be served on ${host}:${port} (${code}): set TRUSS_HTTP_HOST and TRUSS_HTTP_PORT to an address that is free`,
      error,
    );
  }
  return app;
}
