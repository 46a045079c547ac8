import type {
  AttachmentRef,
  Entry,
  EvalRunId,
  Joining,
  JsonValue,
  LiveChains,
  SignedDraft,
  SignedEntry,
} from '#lib/ledger';

/**
 * `confirmed`: read back, joined the live chain, and nothing that was read displaces the writer or ends the ledger.
 * `lost`: it no longer can join.
 */
export type AppendAnswer = 'confirmed' | 'lost';

/** A stored record, verified by nobody. Positions grow along the log and mean nothing else. */
export interface LogRecord {
  readonly position: number;
  readonly record: SignedEntry;
}

/** A record as a scan of the whole log meets it. */
export interface ScannedRecord extends LogRecord {
  /** The evaluation's id as the record's key claims it. */
  readonly evaluation: string;
}

export interface LogListener {
  /** Every verified entry in log order, at once after it went into `live`, with its position. It must not throw, and it must not wait. */
  entry(entry: Entry, joining: Joining, live: LiveChains, position: number): void;
  /** A record that no trusted key signed, or whose signer wrote no entry of this format. */
  foreign?(position: number, reason: string): void;
}

export interface Following {
  /** The fold of all that was read so far, shared by all followers in this process: read it, never change it. */
  readonly live: LiveChains;
  /** Resolves when everything that stood in the log at the time of the call has been delivered. */
  caughtUp(): Promise<void>;
  stop(): void;
}

/**
 * The ledger of all evaluations: the only source of truth. An adapter folds the live chains itself, so that every
 * user of a log in a process sees the same answer.
 */
export interface EventLog {
  /**
   * Appends entries of one ledger, each the next of the one before. Resolves when all were read back, or when one is
   * lost (then so are those after it). Their attachments are stored first.
   * @throws LogError `log_full`, `log_read_only`, `log_corrupt`, `log_closed`
   */
  append(entries: readonly SignedDraft[]): Promise<AppendAnswer>;
  /** Delivers the evaluation from its first record on, and goes on as it grows. Resolves when caught up. */
  follow(evaluation: EvalRunId, listener: LogListener): Promise<Following>;
  /** The records of one evaluation in log order, to the end as of now. Streams: memory is flat in the length. */
  records(evaluation: EvalRunId): AsyncIterable<LogRecord>;
  /** Every evaluation that has a record, oldest first. */
  evaluations(): AsyncIterable<EvalRunId>;
  /**
   * A position before which the log holds nothing of an evaluation that nobody has asked for yet: where a reader of it may begin. A hint
   * for `eval.index`; it says nothing of an evaluation that is there already.
   */
  endFor(evaluation: EvalRunId): Promise<number>;
  /** Where `eval.index`, read to its end, says that the evaluation begins; `null` where it says nothing. */
  beginningOf(evaluation: EvalRunId): Promise<number | null>;
  /** Whether this is the partition of the evaluation's acceptance: one that lies elsewhere would make it another owner's as well. */
  isPlaceOf(evaluation: EvalRunId, partition: number): boolean;
  putAttachment(bytes: Uint8Array): Promise<AttachmentRef>;
  /** The bytes, checked against the hash; `null` where they are not here (any more). */
  attachment(sha256: string): Promise<Uint8Array | null>;
}

export const TOPICS = [
  'eval.requested',
  'eval.accepted',
  'eval.child-run.commands',
  'eval.index',
  'eval.contract',
  'eval.report',
  'eval.dead-letter',
] as const;
export type Topic = (typeof TOPICS)[number];

/** The value of a record of `eval.index`: where the evaluation begins, and how it ended. */
export interface IndexRecord {
  readonly eval_run_id: EvalRunId;
  readonly from: number;
  readonly outcome: string | null;
}

export interface TopicRecord {
  readonly topic: Topic;
  /** 0 where a log has only one. */
  readonly partition: number;
  /** Grows along its partition. */
  readonly position: number;
  readonly key: string;
  readonly value: JsonValue;
  /** How long the value is as it lies in the log, where the adapter knows. */
  readonly bytes?: number;
  /** The W3C `traceparent` that came with it: for traces, believed by nobody. */
  readonly trace?: string;
}

/** What is told of a topic's records. Neither may throw or wait: long work goes elsewhere. */
export interface TopicHandler {
  /** In order within a partition, each record once while the partition is this consumer's. */
  record(record: TopicRecord): void;
  /**
   * Partitions that are another's from now on. What was taken from them may not be committed any more; when one comes back,
   * it is delivered again from its committed position.
   */
  lost?(partitions: readonly number[]): void;
  /**
   * True while there is no room for more of the partition: asked before each record. What comes then stays in the log, for this consumer alone, until
   * `Consumer.resume`. An adapter whose readers cost no memory need not ask.
   */
  full?(partition: number): boolean;
}

export interface Consumer {
  /** Everything of the partition below `position` is finished: a restart of the group begins there. Never moves back. */
  commit(position: number, partition?: number): Promise<void>;
  /** There is room again in a partition that was full; absent where the adapter never asks. */
  resume?(partition: number): void;
  /** Nothing more is delivered from the call on; resolves when the group knows. */
  stop(): Promise<void>;
}

/** The topics beside the ledger: what goes through them is a hint or a request, and is believed by nobody. */
export interface Topics {
  /** Resolves with the record's position when it is durable. */
  publish(topic: Topic, key: string, value: JsonValue, trace?: string): Promise<number>;
  /** Puts a record that cannot be used on `eval.dead-letter`, as it came, with what is wrong with it. Resolves when it is durable. */
  refuse(record: TopicRecord, code: string, reason: string): Promise<void>;
  /** Delivers from the group's committed position on; the position is committed when the work of a record is done. */
  consume(topic: Topic, group: string, handler: TopicHandler): Promise<Consumer>;
  /**
   * The records of a topic that are still kept, to the end as of now. `after`: for each partition the position of a record that was read
   * before; only those behind it come.
   */
  list(topic: Topic, after?: ReadonlyMap<number, number>): AsyncIterable<TopicRecord>;
}

/** Tells a second executor that the first is alive. It saves money; the log keeps the truth when a lease is wrong. */
export interface Leases {
  /**
   * Takes or renews the lease for `ttlMs`; false while somebody else's is alive. `begun`: the work has a writer already, so that
   * taking the lease is a take-over; a store that came back empty, and knows nothing of who is alive, refuses those for one `ttlMs`.
   */
  hold(name: string, holder: string, ttlMs: number, begun: boolean): Promise<boolean>;
  release(name: string, holder: string): Promise<void>;
}

/** `retryable`: the same call may succeed later, with nothing changed by this one. */
export class LogError extends Error {
  override readonly name = 'LogError';
  constructor(
    readonly code:
      | 'log_full'
      | 'log_read_only'
      | 'log_corrupt'
      | 'log_closed'
      | 'log_not_ours'
      | 'log_newer'
      | 'log_busy'
      | 'log_missing'
      | 'log_unreadable',
    message: string,
    options?: ErrorOptions & { readonly retryable?: boolean },
  ) {
    super(message, options);
    this.retryable = options?.retryable ?? false;
  }
  readonly retryable: boolean;
}
