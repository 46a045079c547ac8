import { hostname } from 'node:os';
import type { OtlpSettings } from '../config/endpoints.js';
import type { Tracing } from './observer.js';
import type { TracedService } from './otlp.js';
import { passTraces } from './tracing.js';

/** Traces to the collector; without one they are only passed on, and nothing of the exporter is loaded. */
export async function openTracing(otlp: OtlpSettings | null, service: TracedService): Promise<Tracing> {
  if (otlp === null) return passTraces();
  const { exportTraces } = await import('./otlp.js');
  return exportTraces(otlp, service, `${hostname()}-${process.pid}`);
}
