import type { AppendAnswer } from '#lib/event-log';
import type { EvaluationView } from '#lib/evaluation';
import type { Entry, EvalRunId } from '#lib/ledger';

/** A process's way to the log and to what is published beside it, as `EventLog` and `Topics` give it to the services. */
export interface LogClient {
  /** What was read of an evaluation that is open. */
  view(evaluation: EvalRunId): EvaluationView;
  /** Calls back when the view holds what stood in the log. Every `open` is paired with one `close`. */
  open(evaluation: EvalRunId, opened: () => void): void;
  close(evaluation: EvalRunId): void;
  /** A position before which the log holds nothing of an evaluation that nobody has begun. */
  endFor(evaluation: EvalRunId): number;
  /** Where `eval.index`, read to its end, says that the evaluation begins. */
  beginningOf(evaluation: EvalRunId, found: (from: number | null) => void): void;
  readToEnd(evaluation: EvalRunId, done: () => void): void;
  append(entries: readonly Entry[], session: string, answer: (answer: AppendAnswer) => void): void;
  /** `land` puts the record where it belongs, perhaps twice or never; `done` is called when it is durable. */
  publish(place: string, land: () => void, done?: () => void): void;
  /** The log grew. */
  notice(): void;
  /** The view of an evaluation of which nothing is left to read; null where there is none. */
  complete(evaluation: EvalRunId): EvaluationView | null;
  /** Forgets all that a process forgets when it dies, and begins anew. */
  reset(): void;
}
