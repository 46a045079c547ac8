import type { JsonValue } from '#lib/ledger';
import type { WireTopic } from './codec.js';

/** `ce_type` of the records of a topic. A change that old readers cannot read would be another type on another topic. */
export const EVENT_TYPES: { readonly [T in WireTopic]: string } = {
  'eval.requested': 'truss.eval.requested.v1',
  'eval.accepted': 'truss.eval.accepted.v1',
  'eval.child-run.commands': 'truss.eval.child-run.command.v1',
  'eval.ledger': 'truss.eval.ledger.entry.v1',
  'eval.index': 'truss.eval.index.v1',
  'eval.attachment': 'truss.eval.attachment.chunk.v1',
  'eval.contract': 'truss.eval.contract.v1',
  'eval.report': 'truss.eval.report.v1',
  'eval.dead-letter': 'truss.eval.dead-letter.v1',
};

/** Confluent wire format: an Avro datum behind the id of its schema. */
export const CONTENT_TYPE = 'application/vnd.confluent.avro';

export interface CloudEvent {
  readonly type: string;
  /** URI-reference of who produced it. */
  readonly source: string;
  /** What it is about: the evaluation, the run, the attachment. */
  readonly subject: string;
  /** Unique with `source`; the same again for a copy of the record. */
  readonly id: string;
  /** RFC 3339. */
  readonly time: string;
  /** W3C Trace Context. */
  readonly traceparent?: string;
}

/**
 * `ce_id` of a value: a report's is the reference of the entry that it rests on, so that whoever reads a copy of it, published after a crash
 * or for a repeat of the request, can tell. Every other value is an event of its own: `random`.
 */
export function eventIdOf(topic: WireTopic, value: JsonValue, random: () => string): string {
  if (topic !== 'eval.report' || typeof value !== 'object' || value === null || !('report_ref' in value))
    return random();
  const { report_ref: ref } = value;
  return typeof ref === 'string' && ref !== '' ? ref : random();
}

/**
 * Record headers of a CloudEvent 1.0 in binary content mode (CloudEvents Kafka protocol binding 1.0.2, section 3.2): attributes as
 * `ce_*`, the data's content type as `content-type`, and W3C `traceparent`. Routing hints: nothing is believed because of them.
 */
export function cloudEventHeaders({
  type,
  source,
  subject,
  id,
  time,
  traceparent,
}: CloudEvent): Record<string, string> {
  return {
    ce_specversion: '1.0',
    ce_id: id,
    ce_type: type,
    ce_source: source,
    ce_subject: subject,
    ce_time: time,
    'content-type': CONTENT_TYPE,
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}
