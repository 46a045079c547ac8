import type { EvalRunId, SignedEntry } from '#lib/ledger';
import type { LogRecord, Topic, TopicRecord } from './port.js';

/** What an adapter in one address space stores. Every call is synchronous; positions begin at 1. */
export interface Store {
  /** Runs the writes as one whole, durable when `sync` has resolved. None begins before that. @throws LogError with nothing changed */
  transaction(write: (tx: Writes) => void): void;
  /**
   * Resolves when the transaction is durable; until then only `range` shows its entries. `null` where it is already.
   * @throws LogError where nobody can say whether it is: nothing may be written after that
   */
  sync(): Promise<void> | null;
  /** Position of the evaluation's last record, 0 where there is none. */
  end(evaluation: EvalRunId): number;
  /** Position of the last record of all, 0 where there is none. */
  head(): number;
  /** The evaluation's first records after a position, in order. */
  page(evaluation: EvalRunId, after: number, limit: number): readonly LogRecord[];
  /** All records from a position to another, both included, in order. */
  range(from: number, to: number): readonly LogRecord[];
  /** The evaluations whose first record comes after a position, in order of that record. */
  evaluations(after: number, limit: number): readonly { readonly eval: EvalRunId; readonly position: number }[];
  /** The stored bytes, unchecked. */
  attachment(sha256: string): Uint8Array | undefined;
  topicEnd(topic: Topic): number;
  topicPage(topic: Topic, after: number, limit: number): readonly TopicRecord[];
  /** The committed position of a group, 0 where it committed none. */
  offset(topic: Topic, group: string): number;
  /** Calls back, in a later turn, when somebody else may have written. Returns what ends it. */
  watch(changed: () => void): () => void;
  /** Topics that this handle may write: `all`, or only the inbox of a database that another process drives. */
  readonly writes: 'all' | 'inbox';
  close(): void;
}

export interface Writes {
  /** Appends a record and returns its position, above all others. `first`: it may be the evaluation's first. */
  entry(evaluation: EvalRunId, record: SignedEntry, first: boolean): number;
  attachment(sha256: string, bytes: Uint8Array): void;
  publish(topic: Topic, key: string, json: string): number;
  /** Never moves back. Commands below what every group committed may be forgotten. */
  commit(topic: Topic, group: string, position: number): void;
}

/** Records read at once: bounds memory, and no read stays open while a reader waits. */
export const PAGE = 128;
