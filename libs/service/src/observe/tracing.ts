import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace, type Tracer } from '@opentelemetry/api';
import { isChildRunId, isEvalRunId, parseChildRunId } from '#lib/ledger';
import type { Tracing } from './observer.js';
import { parseTraceparent, traceparentOf } from './traceparent.js';
import { projectionOf, workOf, Works, writerOf } from './works.js';

/** Passes on the `traceparent` that comes with a record, and makes no spans: what holds when nothing is exported. */
export function passTraces(): Tracing {
  const works = new Works<string>();
  return {
    taking(group, record) {
      const work = workOf(group, record);
      const { partition, trace: value } = record;
      if (work !== null && value !== undefined) works.begin(work, { group, partition, value });
      return value;
    },
    publishing: (topic, key, given) => given ?? (topic === 'eval.report' ? works.get(projectionOf(key)) : undefined),
    traceOf: (entry) => works.get(writerOf(entry)),
    published: (topic, key) => void (topic === 'eval.report' && works.end(projectionOf(key))),
    refused: ({ key }) => works.end(key),
    lost: (group, _topic, partitions) => works.lost(group, partitions),
    read: (entry, joining) => void (joining === 'joined' && works.read(entry)),
    close: async () => {},
  };
}

/** The names of the spans of work, by the group that takes the record. */
const SPANS: Readonly<Record<string, string>> = {
  intake: 'intake',
  coordinator: 'evaluation',
  executor: 'child run',
  projector: 'projection',
};

/**
 * One trace from a request to its report: a span for the intake, the evaluation, each record sent, each run, every append (its end is its
 * confirmation) and the projection. Work that goes to another process ends here, and has a span of its own there.
 */
export function spanTraces(tracer: Tracer, shutdown: () => Promise<void>): Tracing {
  const works = new Works<Span>((span, by) => {
    if (by?.type === 'run_sealed') span.setAttribute('truss.verdict', by.body.verdict);
    if (by?.type === 'eval_closed') span.setAttribute('truss.outcome', by.body.outcome);
    span.end();
  });
  /** Of records at the intake, by the trace that they go on with. */
  const requests = new Map<string, Span>();

  const begin = (
    name: string,
    parent: string | undefined,
    options: { readonly kind?: SpanKind; readonly startTime?: number; readonly attributes: Attributes },
  ): Span => {
    const from = parseTraceparent(parent);
    return tracer.startSpan(
      name,
      options,
      from === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, from),
    );
  };
  const traceparent = (span: Span | undefined) => span && traceparentOf(span.spanContext());

  return {
    taking(group, record) {
      const { topic, key, partition } = record;
      const work = workOf(group, record);
      if (work === null && group !== 'intake') return record.trace;
      const known = work === null ? undefined : works.get(work);
      if (known !== undefined) return traceparent(known);
      const attributes = { ...destination(topic), ...idsOf(key) };
      const span = begin(SPANS[group] ?? group, record.trace, { kind: SpanKind.CONSUMER, attributes });
      const goesOn = traceparentOf(span.spanContext());
      if (work === null) requests.set(goesOn, span);
      else works.begin(work, { group, partition, value: span });
      return goesOn;
    },
    publishing(topic, key, given) {
      const parent = given ?? traceparent(works.get(topic === 'eval.report' ? projectionOf(key) : key));
      if (parent === undefined) return undefined;
      const span = begin(`send ${topic}`, parent, {
        kind: SpanKind.PRODUCER,
        attributes: { ...destination(topic), ...idsOf(key) },
      });
      span.end();
      requests.get(parent)?.end();
      requests.delete(parent);
      return traceparent(span);
    },
    traceOf: (entry) => traceparent(works.get(writerOf(entry))),
    published: (topic, key) => void (topic === 'eval.report' && works.end(projectionOf(key))),
    refused({ key, trace: goesOn = '' }, code, reason) {
      requests
        .get(goesOn)
        ?.setStatus({ code: SpanStatusCode.ERROR, message: `${code}: ${reason}` })
        .end();
      requests.delete(goesOn);
      works.end(key);
    },
    lost: (group, _topic, partitions) => works.lost(group, partitions),
    appended({ entries, answer, ms, trace: parent }) {
      const last = entries[entries.length - 1];
      if (last === undefined || parent === undefined) return;
      const types = entries.map(({ type }) => type);
      begin(`append ${last.type}`, parent, {
        startTime: Date.now() - ms,
        attributes: { 'truss.entries': types, 'truss.answer': answer, ...idsOf(last.ledger) },
      }).end();
    },
    read: (entry, joining) => void (joining === 'joined' && works.read(entry)),
    async close() {
      works.endAll();
      for (const span of requests.values()) span.end();
      await shutdown();
    },
  };
}

type Attributes = Record<string, string | string[]>;

function destination(topic: string): Attributes {
  return { 'messaging.system': 'kafka', 'messaging.destination.name': topic };
}

function idsOf(key: string): Attributes {
  if (isChildRunId(key)) return { 'truss.eval_run_id': parseChildRunId(key).eval, 'truss.child_run_id': key };
  return isEvalRunId(key) ? { 'truss.eval_run_id': key } : {};
}
