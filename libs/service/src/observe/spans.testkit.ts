import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Tracing } from './observer.js';
import { spanTraces } from './tracing.js';

/** Tracing whose ended spans a test can look at. */
export function spansInMemory(): { readonly tracing: Tracing; readonly spans: () => readonly ReadableSpan[] } {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  return { tracing: spanTraces(provider.getTracer('test'), async () => {}), spans: () => exporter.getFinishedSpans() };
}
