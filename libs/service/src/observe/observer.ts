import type { AppendAnswer, LogRecord, Topic, TopicRecord } from '#lib/event-log';
import type { Entry, EvalRunId, Joining, JsonValue } from '#lib/ledger';

/** An append that was answered. */
export interface Appended {
  /** All of one ledger. */
  readonly entries: readonly Entry[];
  readonly answer: AppendAnswer;
  /** From the call to the answer. */
  readonly ms: number;
  /** The `traceparent` of the work that it belongs to. */
  readonly trace: string | undefined;
}

/** Told what passes between the services of a process and its log; none may throw or wait. */
export interface Observer {
  /** A record was given to a service. */
  taken?(group: string, record: TopicRecord): void;
  /** Partitions are another process's from now on. */
  lost?(group: string, topic: Topic, partitions: readonly number[]): void;
  /** A record of a topic is durable. */
  published?(topic: Topic, key: string, value: JsonValue, trace: string | undefined): void;
  /** A record is on the dead letters. */
  refused?(record: TopicRecord, code: string, reason: string): void;
  appended?(appended: Appended): void;
  /** An entry of a followed evaluation, in log order; once each time that it is followed. */
  read?(entry: Entry, joining: Joining): void;
  foreign?(evaluation: EvalRunId, position: LogRecord['position'], reason: string): void;
  /** A child run is this process's now, or no longer. */
  held?(run: string, held: boolean): void;
}

/** Also told, and gives the traces that go on from here. Every `trace` is a W3C `traceparent`. */
export interface Tracing extends Observer {
  /** The trace with which the service goes on from the record. */
  taking(group: string, record: TopicRecord): string | undefined;
  /** The trace that goes out with the record. */
  publishing(topic: Topic, key: string, trace: string | undefined): string | undefined;
  /** The trace of the work that writes the entry. */
  traceOf(entry: Entry): string | undefined;
  /** Sends what was not sent yet, in a few seconds or not at all. */
  close(): Promise<void>;
}
