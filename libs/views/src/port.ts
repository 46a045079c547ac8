import type { EvalRunId, JsonObject } from '#lib/ledger';
import type { EvaluationRow, LedgerRow, LessonRow, ReportRow } from './rows.js';

/** Of what the rows look like. A change of it needs `truss views rebuild`; until then the new software shows nothing. */
export const VIEWS_FORMAT = 1;

export type ViewName = 'evaluation' | 'report' | 'ledger' | 'lesson';

/** A row as it is after the change: `key` is the ledger or the lesson, and for the others empty. */
export interface ViewRow {
  readonly view: ViewName;
  readonly key: string;
  readonly row: JsonObject;
}

/** What happened to the views of one evaluation between two positions of its log. */
export interface ViewChange {
  readonly evaluation: EvalRunId;
  /** The position after which the rows changed; null: these are all rows there are. */
  readonly base: number | null;
  /** Everything of the evaluation up to here is in the rows. */
  readonly position: number;
  /** When it started, in ms since the epoch as its ledger claims: the order of the list. */
  readonly started: number;
  readonly rows: readonly ViewRow[];
}

/**
 * `written`, or `stale`: the views are as far, or further, and nothing was changed. `gap`: something between the views and `base` is
 * missing, as after a store was lost; write all rows.
 */
export type WriteAnswer = 'written' | 'stale' | 'gap';

export interface ViewWriter {
  /** Rows and position change together or not at all; a copy and an older change change nothing. @throws ViewsError */
  write(change: ViewChange): Promise<WriteAnswer>;
}

export interface ListOptions {
  /** Continue after this one. */
  readonly after?: EvalRunId;
  /** At most so many; 100 unless said otherwise. */
  readonly limit?: number;
}

/** All throw ViewsError. */
export interface ViewReader {
  /** The evaluations, the last started first. */
  list(options?: ListOptions): Promise<readonly EvaluationRow[]>;
  evaluation(evaluation: EvalRunId): Promise<EvaluationRow | null>;
  report(evaluation: EvalRunId): Promise<ReportRow | null>;
  /** The evaluation's own ledger first, then its runs' by name. */
  ledgers(evaluation: EvalRunId): Promise<readonly LedgerRow[]>;
  lessons(evaluation: EvalRunId): Promise<readonly LessonRow[]>;
  status(): Promise<ViewsStatus>;
}

export interface ViewsStatus {
  readonly format: number;
  /** The version that readers see. */
  readonly version: string;
  readonly evaluations: number;
  /** The version that is being built, if one is. */
  readonly building: string | null;
}

/**
 * How the version that readers see differs from the one that was built anew: `missing` and `extra` are what it lacks and what it
 * has too much; `differs` names the row; `position`: one of the two has read further, so that they cannot be compared.
 */
export type ViewDifference =
  | { readonly kind: 'missing' | 'extra' | 'position'; readonly evaluation: EvalRunId }
  | { readonly kind: 'differs'; readonly evaluation: EvalRunId; readonly view: ViewName; readonly key: string };

/** The next version, which no reader sees. Whatever is written to the views while it is being built goes to both. */
export interface NextViews extends ViewWriter {
  readonly version: string;
  differences(): AsyncIterable<ViewDifference>;
  /** Shows it to the readers, all at once, and forgets the version before. @throws ViewsError `rebuild_displaced` */
  show(): Promise<void>;
  /** Forgets it. */
  discard(): Promise<void>;
}

export interface Views extends ViewReader, ViewWriter {
  /** Begins the next version; one that another process was building is given up. */
  next(): Promise<NextViews>;
}

/** `retryable`: the same call may succeed later. */
export class ViewsError extends Error {
  override readonly name = 'ViewsError';
  constructor(
    readonly code: 'views_unavailable' | 'views_malformed' | 'rebuild_displaced',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
  get retryable(): boolean {
    return this.code === 'views_unavailable';
  }
}
