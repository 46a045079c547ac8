import { buildReport, type EvaluationView } from '#lib/evaluation';
import type { EvalRunId, LedgerRef, Writer } from '#lib/ledger';
import type { CoreEffect, CoreEnv, CoreEvent } from './effects.js';

export interface ProjectionState {
  /** `reading`: to the log's end, before an evaluation that has not begun in time is given up. */
  phase: 'following' | 'reading' | 'reporting' | 'waiting' | 'done';
  writing: boolean;
}

export type ProjectionEffect = CoreEffect<
  /** Publish the report that joined the live chain, this projector's or another's. */
  { readonly kind: 'publish'; readonly eval: EvalRunId; readonly report: LedgerRef }
>;

/**
 * The projector's core for one evaluation: after a complete close it folds the entries into the report and offers it as the last
 * entry. The body is a pure fold, so it does not matter whose joins first: that one is published, and only then is the work finished.
 */
export class ProjectionCore {
  constructor(
    readonly evaluation: EvalRunId,
    protected readonly key: Writer['key'],
    readonly state: ProjectionState = { phase: 'following', writing: false },
    /** Whatever has not begun by then has no time left for a run, so it can have no report: its owner refused it, or it ends at once. In ms of the epoch. */
    private readonly beginsBy = Number.POSITIVE_INFINITY,
  ) {}

  begin(): ProjectionEffect[] {
    return this.wakeInTime();
  }

  private wakeInTime(): ProjectionEffect[] {
    return this.beginsBy === Number.POSITIVE_INFINITY ? [] : [{ kind: 'wake', at: this.beginsBy }];
  }

  step(event: CoreEvent, view: EvaluationView, env: CoreEnv): ProjectionEffect[] {
    const { state } = this;
    if (event.kind === 'answered') state.writing = false;
    if (state.phase === 'done' || state.writing) return [];
    const { started, closed, report } = view.state;
    if (started === null) return this.unbegun(event, env);
    if (state.phase === 'reading') state.phase = 'following';
    if (closed === null) return [];
    if (closed.body.outcome !== 'complete') return this.finish();
    if (report !== null) return [{ kind: 'publish', eval: this.evaluation, report: report.ref }, ...this.finish()];
    if (state.phase === 'waiting') return this.unread();
    // One attempt: once an append is lost, the report that joined instead is on its way to this reader.
    state.phase = event.kind === 'answered' ? 'waiting' : 'reporting';
    if (state.phase === 'waiting') return this.unread();
    state.writing = true;
    const drafts = [{ type: 'eval_report', body: buildReport(view.state) } as const];
    return [{ kind: 'write', ledger: this.evaluation, session: env.random128(), drafts }];
  }

  private unbegun(event: CoreEvent, env: CoreEnv): ProjectionEffect[] {
    const { state } = this;
    if (env.now < this.beginsBy) return this.wakeInTime();
    if (state.phase === 'reading') return event.kind === 'caught_up' ? this.finish() : [];
    state.phase = 'reading';
    return [{ kind: 'read_to_end', eval: this.evaluation }];
  }

  /** The work is not finished before the report was read. */
  protected unread(): ProjectionEffect[] {
    return [];
  }

  protected finish(): ProjectionEffect[] {
    this.state.phase = 'done';
    return [{ kind: 'finished' }];
  }
}
