import type { EvalRunId, Usage, Verdict } from '#lib/ledger';

/** One run of the schedule, as progress names it. */
export interface RunName {
  readonly child_run_id: string;
  readonly arm: string;
  readonly replicate: number;
  readonly repeat: number;
  readonly case: string | null;
}

/** What happens while an evaluation is driven: a line each with `--progress json`. Money is integer nano-dollars. */
export type ProgressEvent =
  | {
      readonly event: 'evaluation_started';
      readonly eval_run_id: EvalRunId;
      readonly contract_id: string;
      readonly repeats: number;
      readonly replicates: number;
      readonly runs_planned: number;
      readonly runs_done: number;
      readonly seed: number;
      readonly concurrency: number;
      readonly max_cost_nano_usd: number | null;
      readonly resumed: boolean;
      /** By arm, of the runs that are done. */
      readonly verdicts: Readonly<Record<string, Readonly<Record<Verdict, number>>>>;
      readonly spent: Usage;
    }
  | ({ readonly event: 'run_started' } & RunName)
  | { readonly event: 'run_reported'; readonly child_run_id: string; readonly steps: number; readonly spent: Usage }
  | ({
      readonly event: 'run_ended';
      readonly verdict: Verdict;
      readonly reason: string;
      readonly usage: Usage;
      readonly lessons_rendered: number;
      readonly lessons_promoted: number;
      readonly runs_done: number;
      readonly spent: Usage;
    } & RunName)
  | {
      readonly event: 'evaluation_closed';
      readonly outcome: 'complete' | 'cancelled' | 'failed';
      readonly reason: string;
    }
  | { readonly event: 'evaluation_reported'; readonly report_ref: string; readonly verdict: string }
  | { readonly event: 'stopped'; readonly reason: string; readonly resume: string };

/** Where progress goes. It must not throw or wait: it is told of entries as they are folded. */
export interface Reporter {
  tell(event: ProgressEvent): void;
  /** Leaves the terminal as it was; resolves when all is written. */
  close(): Promise<void>;
}
