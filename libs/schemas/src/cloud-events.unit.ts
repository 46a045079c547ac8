import { expect, test } from 'vitest';
import { cloudEventHeaders, EVENT_TYPES, eventIdOf } from './cloud-events.js';
import { WIRE_TOPICS } from './codec.js';

const event = {
  type: EVENT_TYPES['eval.report'],
  source: '/truss/projector',
  subject: 'ev_1',
  id: 'ev_1#3',
  time: '2026-01-01T00:00:00.000Z',
};

test('an event is written as binary CloudEvent headers of Kafka, with the trace under its W3C name', () => {
  expect(cloudEventHeaders({ ...event, traceparent: '00-1-2-01' })).toEqual({
    ce_specversion: '1.0',
    ce_id: 'ev_1#3',
    ce_type: 'truss.eval.report.v1',
    ce_source: '/truss/projector',
    ce_subject: 'ev_1',
    ce_time: '2026-01-01T00:00:00.000Z',
    'content-type': 'application/vnd.confluent.avro',
    traceparent: '00-1-2-01',
  });
  expect(cloudEventHeaders(event)).not.toHaveProperty('traceparent');
});

test('every topic has an event type of its own', () => {
  expect(new Set(WIRE_TOPICS.map((topic) => EVENT_TYPES[topic])).size).toBe(WIRE_TOPICS.length);
});

test('a report that is published again is the same event, and every other value a new one', () => {
  const random = () => 'random';
  const report = { report_ref: 'truss:ev_1#3', verdict: 'pass' };
  expect(eventIdOf('eval.report', report, random)).toBe('truss:ev_1#3');
  expect(eventIdOf('eval.index', report, random)).toBe('random');
  for (const none of [null, 4, ['truss:ev_1#3'], {}, { report_ref: 3 }, { report_ref: '' }])
    expect(eventIdOf('eval.report', none, random)).toBe('random');
});
