import { buildReport, type EvaluationView } from '#lib/evaluation';
import type { EvalRunId, LedgerRef, Writer } from '#lib/ledger';
import type { CoreEffect, CoreEnv, CoreEvent } from './effects.js';

export interface ProjectionState {
  phase: 'following' | 'reporting' | 'waiting' | 'done';
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
  ) {}

  begin(): ProjectionEffect[] {
    return [];
  }

  step(event: CoreEvent, view: EvaluationView, env: CoreEnv): ProjectionEffect[] {
    const { state } = this;
    if (event.kind === 'answered') state.writing = false;
    if (state.phase === 'done' || state.writing) return [];
    const { closed, report } = view.state;
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

  /** The work is not finished before the report was read. */
  protected unread(): ProjectionEffect[] {
    return [];
  }

  protected finish(): ProjectionEffect[] {
    this.state.phase = 'done';
    return [{ kind: 'finished' }];
  }
}
