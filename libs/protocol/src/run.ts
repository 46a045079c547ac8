import { type Action, decideRun, type RunContext } from '#lib/child-run/core';
import type { EvaluationView } from '#lib/evaluation';
import { chainOf, type ChildRunId, type Draft, type EvalRunId, mayContinue, type Writer } from '#lib/ledger';
import type { CoreEffect, CoreEnv, CoreEvent } from './effects.js';

export interface RunState {
  /**
   * `judging`: reading to the log's end before the command is believed. `waiting`: its request is not there yet.
   * `leasing`: asking for the lease. `deferred`: another executor's lease is alive. `catching_up`: reading to the log's end before
   * the claim. `claiming`: seq 0 or `writer_changed` is on its way. `running`: writer. `displaced`: somebody else is. `done`.
   */
  phase: 'judging' | 'waiting' | 'leasing' | 'deferred' | 'catching_up' | 'claiming' | 'running' | 'displaced' | 'done';
  session: string | null;
  writing: boolean;
  /** The action under way, and a number that tells its results from an aborted one's. */
  acting: Action | null;
  actions: number;
  /** Drafts that wait for the append in flight. */
  readonly queue: Draft[];
  /** This session has looked for lessons. */
  extracted: boolean;
  renewAt: number;
  retryAt: number;
  seen: { readonly length: number; readonly at: number; readonly patience: number };
}

export interface RunDeps {
  readonly key: Writer['key'];
  readonly leaseMs: number;
  /** What the run is, from the live request and the plan. */
  context(view: EvaluationView): RunContext;
}

export type RunEvent = CoreEvent<
  | { readonly kind: 'progress'; readonly id: number; readonly drafts: readonly Draft[] }
  | { readonly kind: 'performed'; readonly id: number; readonly drafts: readonly Draft[] }
>;
export type RunEffect = CoreEffect<
  { readonly kind: 'perform'; readonly id: number; readonly action: Action } | { readonly kind: 'abort' }
>;

/**
 * The executor's core for one command: it judges the command by the live chain, becomes the writer of the child's ledger, and
 * takes the run from step to step until it is sealed. Rules 2, 3, 5, 6 and 9 of DESIGN.md's section on writing.
 */
export class RunCore {
  constructor(
    readonly evaluation: EvalRunId,
    readonly child: ChildRunId,
    protected readonly deps: RunDeps,
    readonly state: RunState = {
      phase: 'judging',
      session: null,
      writing: false,
      acting: null,
      actions: 0,
      queue: [],
      extracted: false,
      renewAt: 0,
      retryAt: 0,
      seen: { length: 0, at: 0, patience: 0 },
    },
  ) {}

  begin(): RunEffect[] {
    return [this.read('judging')];
  }

  step(event: RunEvent, view: EvaluationView, env: CoreEnv): RunEffect[] {
    const { state } = this;
    switch (event.kind) {
      case 'answered':
        state.writing = false;
        if (event.answer === 'lost') return this.lost(view, env);
        if (state.phase === 'claiming') {
          state.phase = 'running';
          // At once, so that the first renewal also sets the clock for the next: a silent agent must keep its lease too.
          state.renewAt = env.now;
        }
        break;
      case 'progress':
        if (event.id === state.actions && state.acting !== null) state.queue.push(...event.drafts);
        break;
      case 'performed':
        if (event.id !== state.actions || state.acting === null) return [];
        if (state.acting.kind === 'extract') state.extracted = true;
        state.acting = null;
        state.queue.push(...event.drafts);
        break;
      case 'leased':
        return this.leased(event.granted, view, env);
      case 'changed':
      case 'caught_up':
        break;
      default:
        return event satisfies never;
    }
    if (state.phase === 'done' || state.writing) return [];
    if (this.isOver(view)) return this.finish();
    switch (state.phase) {
      case 'judging':
        return event.kind === 'caught_up' ? this.judge(view) : [];
      case 'waiting':
        return this.judge(view);
      case 'deferred':
        return env.now >= state.retryAt ? [this.read('judging')] : [{ kind: 'wake', at: state.retryAt }];
      case 'catching_up':
        return event.kind === 'caught_up' ? this.claim(view, env) : [];
      case 'running':
        return this.advance(view, env);
      case 'displaced':
        return this.waitForTurn(view, env);
      case 'leasing':
      case 'claiming':
        return [];
      default:
        return state.phase satisfies never;
    }
  }

  /** A command is finished when its child is sealed or its evaluation closed, and never before. */
  protected isOver(view: EvaluationView): boolean {
    const live = view.live.children.get(this.child);
    return view.live.closed !== null || live?.sealed === true || live?.anchored === true;
  }

  protected newSession(env: CoreEnv): string {
    return env.random128();
  }

  private read(phase: 'judging' | 'catching_up'): RunEffect {
    this.state.phase = phase;
    return { kind: 'read_to_end', eval: this.evaluation };
  }

  /** A command is a hint: only a request on the live chain makes a run. */
  protected judge(view: EvaluationView): RunEffect[] {
    if (!view.live.children.has(this.child)) {
      this.state.phase = 'waiting';
      return [];
    }
    this.state.phase = 'leasing';
    return [{ kind: 'lease', child: this.child }];
  }

  private leased(granted: boolean, view: EvaluationView, env: CoreEnv): RunEffect[] {
    const { state } = this;
    if (state.phase !== 'leasing') return [];
    if (this.isOver(view)) return this.finish();
    if (granted) return [this.read('catching_up')];
    state.phase = 'deferred';
    state.retryAt = env.now + this.deps.leaseMs / 2 + env.below(this.deps.leaseMs);
    return [{ kind: 'wake', at: state.retryAt }];
  }

  protected claim(view: EvaluationView, env: CoreEnv): RunEffect[] {
    const chain = chainOf(view.live, this.child);
    this.state.session = this.newSession(env);
    this.state.phase = 'claiming';
    this.state.extracted = false;
    this.state.queue.length = 0;
    if (chain !== null) {
      return [
        this.write([
          { type: 'writer_changed', body: { displaced: chain.writer, reason: 'no lease on the run is alive' } },
        ]),
      ];
    }
    const first = decideRun(this.stateOf(view), this.deps.context(view), false);
    if (first.kind !== 'record') throw new Error(`run ${this.child} does not begin with an entry`);
    return [this.write(first.drafts)];
  }

  private stateOf(view: EvaluationView) {
    const run = view.state.children.get(this.child)?.run;
    if (run == null) throw new Error(`run ${this.child} has no state`);
    return run;
  }

  private advance(view: EvaluationView, env: CoreEnv): RunEffect[] {
    if (!this.mayAct(view)) return this.displaced(view, env);
    const { state } = this;
    const renewal = this.renewal(env);
    if (state.queue.length > 0) return [...renewal, this.write(state.queue.splice(0))];
    if (state.acting !== null) return renewal;
    const step = decideRun(this.stateOf(view), this.deps.context(view), state.extracted);
    switch (step.kind) {
      case 'record':
        return [...renewal, this.write(step.drafts)];
      case 'act':
        state.acting = step.action;
        state.actions += 1;
        return [...renewal, { kind: 'perform', id: state.actions, action: step.action }];
      case 'sealed':
        return this.finish();
      default:
        return step satisfies never;
    }
  }

  private renewal(env: CoreEnv): RunEffect[] {
    if (env.now < this.state.renewAt) return [{ kind: 'wake', at: this.state.renewAt }];
    this.state.renewAt = env.now + this.deps.leaseMs / 3;
    return [
      { kind: 'lease', child: this.child },
      { kind: 'wake', at: this.state.renewAt },
    ];
  }

  /** Checked again right before each effect. */
  protected mayAct(view: EvaluationView): boolean {
    const { session } = this.state;
    return session !== null && mayContinue(view.live, this.child, { key: this.deps.key, session });
  }

  protected lost(view: EvaluationView, env: CoreEnv): RunEffect[] {
    return this.isOver(view) ? this.finish() : this.displaced(view, env);
  }

  /** Whoever is displaced stops under that session, and tries again only after one lease time without an entry from the other. */
  protected displaced(view: EvaluationView, env: CoreEnv): RunEffect[] {
    this.state.phase = 'displaced';
    this.state.session = null;
    // Its lease would say that the run is in good hands.
    return [...this.stopActing(), { kind: 'release', child: this.child }, ...this.watch(view, env)];
  }

  private stopActing(): RunEffect[] {
    const { state } = this;
    state.queue.length = 0;
    if (state.acting === null) return [];
    state.acting = null;
    state.actions += 1;
    return [{ kind: 'abort' }];
  }

  private watch(view: EvaluationView, env: CoreEnv): RunEffect[] {
    const patience = this.deps.leaseMs + env.below(this.deps.leaseMs);
    this.state.seen = { length: chainOf(view.live, this.child)?.hashes.length ?? 0, at: env.now, patience };
    return [{ kind: 'wake', at: env.now + patience }];
  }

  private waitForTurn(view: EvaluationView, env: CoreEnv): RunEffect[] {
    const { seen } = this.state;
    if ((chainOf(view.live, this.child)?.hashes.length ?? 0) !== seen.length) return this.watch(view, env);
    if (env.now < seen.at + seen.patience) return [{ kind: 'wake', at: seen.at + seen.patience }];
    return [this.read('judging')];
  }

  private write(drafts: readonly Draft[]): RunEffect {
    this.state.writing = true;
    return { kind: 'write', ledger: this.child, session: this.state.session as string, drafts };
  }

  private finish(): RunEffect[] {
    const effects = this.stopActing();
    this.state.phase = 'done';
    return [...effects, { kind: 'release', child: this.child }, { kind: 'finished' }];
  }
}
