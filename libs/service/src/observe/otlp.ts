import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { OtlpSettings } from '../config/endpoints.js';
import type { Tracing } from './observer.js';
import { spanTraces } from './tracing.js';

export interface TracedService {
  readonly service: string;
  readonly version: string;
}

/** How long a collector that does not answer may hold up the end of a process. */
const LAST_EXPORT_MS = 2_000;

/** Spans that go to a collector by OTLP over HTTP, in batches; a collector that is down costs spans and nothing else. */
export function exportTraces(
  { url, headers }: OtlpSettings,
  { service, version }: TracedService,
  instance: string,
): Tracing {
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: 5_000 });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': service,
      'service.version': version,
      'service.instance.id': instance,
    }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  return spanTraces(provider.getTracer('truss', version), async () => {
    const late = new Promise<void>((resolve) => void setTimeout(resolve, LAST_EXPORT_MS).unref());
    await Promise.race([provider.shutdown().catch(() => {}), late]);
  });
}
