import type { EventLog, Leases, LogListener, OpenLog, TopicHandler, TopicRecord, Topics } from '#lib/event-log';
import type { Observer, Tracing } from './observer.js';

export interface ObservedPorts {
  readonly log: EventLog;
  readonly topics: Topics;
  readonly leases: Leases;
}

/** The same log, topics and leases, with observers told of what passes. Embedded mode has none, and pays nothing. */
export function observed(
  { log, topics }: Pick<OpenLog, 'log' | 'topics'>,
  leases: Leases,
  tracing: Tracing,
  others: readonly Observer[],
): ObservedPorts {
  const observers: readonly Observer[] = [...others, tracing];
  return {
    log: observedLog(log, tracing, observers),
    topics: observedTopics(topics, tracing, observers),
    leases: observedLeases(leases, observers),
  };
}

function observedLog(log: EventLog, tracing: Tracing, observers: readonly Observer[]): EventLog {
  return {
    async append(drafts) {
      const [first] = drafts;
      if (first === undefined) return log.append(drafts);
      const trace = tracing.traceOf(first.entry);
      const began = performance.now();
      const answer = await log.append(drafts);
      const ms = performance.now() - began;
      const entries = drafts.map(({ entry }) => entry);
      for (const observer of observers) observer.appended?.({ entries, answer, ms, trace });
      return answer;
    },
    follow(evaluation, listener) {
      const watching: LogListener = {
        entry(entry, joining, live, position) {
          listener.entry(entry, joining, live, position);
          for (const observer of observers) observer.read?.(entry, joining);
        },
        foreign(position, reason) {
          listener.foreign?.(position, reason);
          for (const observer of observers) observer.foreign?.(evaluation, position, reason);
        },
      };
      return log.follow(evaluation, watching);
    },
    records: (evaluation) => log.records(evaluation),
    evaluations: () => log.evaluations(),
    endFor: (evaluation) => log.endFor(evaluation),
    beginningOf: (evaluation) => log.beginningOf(evaluation),
    isPlaceOf: (evaluation, partition) => log.isPlaceOf(evaluation, partition),
    putAttachment: (bytes) => log.putAttachment(bytes),
    attachment: (sha256) => log.attachment(sha256),
  };
}

function observedTopics(topics: Topics, tracing: Tracing, observers: readonly Observer[]): Topics {
  // An adapter knows a record that it delivered by the object.
  const originals = new WeakMap<TopicRecord, TopicRecord>();
  return {
    async publish(topic, key, value, trace) {
      const sent = tracing.publishing(topic, key, trace);
      const position = await topics.publish(topic, key, value, sent);
      for (const observer of observers) observer.published?.(topic, key, value, sent);
      return position;
    },
    async refuse(record, code, reason) {
      await topics.refuse(originals.get(record) ?? record, code, reason);
      for (const observer of observers) observer.refused?.(record, code, reason);
    },
    consume(topic, group, handler) {
      const watching: TopicHandler = {
        record(record) {
          const trace = tracing.taking(group, record);
          const traced = trace === undefined || trace === record.trace ? record : { ...record, trace };
          originals.set(traced, record);
          for (const observer of observers) observer.taken?.(group, traced);
          handler.record(traced);
        },
        lost(partitions) {
          for (const observer of observers) observer.lost?.(group, topic, partitions);
          handler.lost?.(partitions);
        },
        full: (partition) => handler.full?.(partition) ?? false,
      };
      return topics.consume(topic, group, watching);
    },
    list: (topic) => topics.list(topic),
  };
}

function observedLeases(leases: Leases, observers: readonly Observer[]): Leases {
  return {
    async hold(name, holder, ttlMs, begun) {
      const granted = await leases.hold(name, holder, ttlMs, begun);
      for (const observer of observers) observer.held?.(name, granted);
      return granted;
    },
    async release(name, holder) {
      for (const observer of observers) observer.held?.(name, false);
      await leases.release(name, holder);
    },
  };
}
