import type { Following } from '#lib/event-log';
import {
  type EvaluationState,
  type EvaluationView,
  initialState,
  type Lane,
  laneOf,
  observe,
  planOf,
} from '#lib/evaluation';
import type { ChildRunId, Entry, EvalRunId, Joining } from '#lib/ledger';
import { ProofKeeper } from '#lib/lessons';
import { EvaluationFold } from '#lib/views';
import type { Ports } from './ports.js';

export type ViewListener = (entry: Entry, joining: Joining) => void;

/** One evaluation as this process has read it: one fold for all its services. */
export interface OpenView {
  readonly view: EvaluationView;
  /** Proofs of the lessons that anchored runs of this evaluation promoted. */
  readonly proofs: ProofKeeper;
  /** What its read models are; null in a process that keeps none. */
  readonly rows: EvaluationFold | null;
  /** Told of every entry, after it went into the view; must not throw or wait. */
  subscribe(listener: ViewListener): () => void;
  /** Told of every record that is no entry, after it was counted; must not throw or wait. */
  subscribeForeign(listener: () => void): () => void;
  /** Resolves when the view holds all that stood in the log at the time of the call. */
  caughtUp(): Promise<void>;
}

interface Held {
  readonly open: Promise<OpenView>;
  users: number;
  /** Drops it when nobody came back. */
  idle?: NodeJS.Timeout;
}

/** How long the fold of an open evaluation is kept for whoever comes next. */
const IDLE_MS = 10_000;

/** The evaluations that this process follows; each is folded once, from its first record, and dropped with its last user. */
export class EvaluationViews {
  private readonly held = new Map<EvalRunId, Held>();

  constructor(private readonly ports: Pick<Ports, 'log' | 'views'>) {}

  /** Every `open` is paired with one `close`. Resolves when the view has caught up. */
  async open(evaluation: EvalRunId): Promise<OpenView> {
    let held = this.held.get(evaluation);
    if (held === undefined) {
      const made: Held = { open: this.follow(evaluation), users: 0 };
      // Whoever asks after a failure asks the log anew.
      made.open.catch(() => this.held.get(evaluation) === made && this.held.delete(evaluation));
      this.held.set(evaluation, made);
      held = made;
    }
    held.users += 1;
    clearTimeout(held.idle);
    return held.open;
  }

  async close(evaluation: EvalRunId): Promise<void> {
    const held = this.held.get(evaluation);
    if (held === undefined) return;
    held.users -= 1;
    if (held.users > 0) return;
    const { live } = (await held.open).view;
    if (held.users > 0 || this.held.get(evaluation) !== held) return;
    if (live.parent === null || live.closed !== null) return this.drop(evaluation, held);
    // The next run of an open evaluation is seldom far, and folding it again would take longer with each run that it has.
    clearTimeout(held.idle);
    held.idle = setTimeout(() => void this.drop(evaluation, held), IDLE_MS);
    held.idle.unref();
  }

  private async drop(evaluation: EvalRunId, held: Held): Promise<void> {
    this.held.delete(evaluation);
    (await this.stopping.get(held.open))?.stop();
  }

  private readonly stopping = new WeakMap<Promise<OpenView>, Promise<Following>>();

  private follow(evaluation: EvalRunId): Promise<OpenView> {
    const state = initialState(evaluation);
    const proofs = new ProofKeeper();
    const rows = this.ports.views === undefined ? null : new EvaluationFold(evaluation);
    const listeners = new Set<ViewListener>();
    const foreignListeners = new Set<() => void>();
    const following = this.ports.log.follow(evaluation, {
      entry: (entry, joining, live, position) => {
        observe(state, entry, joining);
        proofs.observe(entry, joining);
        rows?.entry(entry, joining, live, position);
        if (entry.type === 'child_anchor') forgetFinished(state, entry.body.child_run_id, proofs);
        for (const listener of listeners) listener(entry, joining);
      },
      foreign: (position) => {
        rows?.foreign(position);
        for (const listener of foreignListeners) listener();
      },
    });
    const open = following.then(
      (handle): OpenView => ({
        view: { live: handle.live, state },
        proofs,
        rows,
        subscribe: subscription(listeners),
        subscribeForeign: subscription(foreignListeners),
        caughtUp: () => handle.caughtUp(),
      }),
    );
    this.stopping.set(open, following);
    return open;
  }
}

function subscription<T>(listeners: Set<T>): (listener: T) => () => void {
  return (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
}

// No run will be offered the lessons of a replicate whose last pair is anchored, in any of the contracts.
function forgetFinished(state: EvaluationState, child: ChildRunId, proofs: ProofKeeper): void {
  const replicate = state.children.get(child)?.replicate;
  const plan = planOf(state);
  const finished = (lane: Lane) => lane.repeat === plan.repeats && lane.anchored === plan.arms.length;
  const lanes = plan.contracts.map((_, contract) =>
    replicate === undefined ? undefined : laneOf(state, { contract, replicate }),
  );
  if (replicate !== undefined && lanes.every((lane) => lane !== undefined && finished(lane))) {
    proofs.forgetReplicate(state.eval, replicate);
  }
}
