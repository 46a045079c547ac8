import type { Entry, EvalRunId, Joining } from '#lib/ledger';
import type { WireTopic } from '#lib/schemas';

/** What passes in the adapter, for metrics and logs. Must not throw or wait. */
export interface KafkaObserver {
  /** An entry was folded: once in a process, however many follow its evaluation. */
  folded?(entry: Entry, joining: Joining): void;
  /** A record of the ledger that is no entry. */
  foreign?(evaluation: EvalRunId, position: number, reason: string): void;
  /** An append that can no longer join. */
  lost?(evaluation: EvalRunId): void;
  /** A record went to `eval.dead-letter`. */
  deadLetter?(topic: WireTopic, code: string): void;
  /** A call to the cluster, or the registry, failed and is made again. */
  trouble?(doing: Doing, error: unknown): void;
  /** A warning or an error of the client library. */
  said?(message: string, details: Readonly<Record<string, unknown>>): void;
}

export type Doing = 'send' | 'fetch' | 'ends' | 'decode' | 'consume' | 'commit';
