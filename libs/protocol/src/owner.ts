import {
  decide,
  type DecideInput,
  type EvalAccepted,
  type EvaluationView,
  requestDigest,
  startedDraft,
} from '#lib/evaluation';
import { type AttachmentRef, type ChildRunId, type Draft, type EvalRunId, mayContinue, type Writer } from '#lib/ledger';
import type { HeldLesson } from '#lib/lessons';
import type { CoreEffect, CoreEnv, CoreEvent } from './effects.js';

export interface OwnerState {
  /**
   * `reading`: to the log's end, before anything is claimed. `claiming`: seq 0 or `writer_changed` is on its way. `active`: writer.
   * `displaced`: somebody else is the writer. `done`: closed, or refused.
   */
  phase: 'reading' | 'claiming' | 'active' | 'displaced' | 'done';
  /** Drawn anew for every attempt to become the writer. */
  session: string | null;
  writing: boolean;
  cancelled: string | null;
  /** Runs whose command went out in this session. */
  sent: Set<ChildRunId>;
  /** While displaced: how long the ledger was when it last grew, and when that was noticed. */
  seen: { readonly length: number; readonly at: number; readonly patience: number };
}

export interface OwnerDeps {
  readonly accepted: EvalAccepted;
  readonly key: Writer['key'];
  readonly trustStore: AttachmentRef;
  readonly software: { readonly truss: string; readonly node: string };
  readonly leaseMs: number;
  readonly starting: readonly HeldLesson[];
}

export type OwnerEffect = CoreEffect<{
  readonly kind: 'refused';
  readonly code: 'request_conflict';
  readonly reason: string;
}>;

export function conflictReason(requester: string, requestId: string): string {
  return `request ${requestId} of ${requester} came with two contents: the first one counts`;
}

/**
 * The coordinator's core for one evaluation: it becomes the writer of the evaluation's ledger, writes what `decide` says,
 * and sends a command for each run that was requested. Rules 2 to 6 of DESIGN.md's section on writing.
 */
export class OwnerCore {
  constructor(
    readonly evaluation: EvalRunId,
    protected readonly deps: OwnerDeps,
    readonly state: OwnerState = {
      phase: 'reading',
      session: null,
      writing: false,
      cancelled: null,
      sent: new Set(),
      seen: { length: 0, at: 0, patience: 0 },
    },
  ) {}

  begin(): OwnerEffect[] {
    return [this.readToEnd()];
  }

  cancel(reason: string): void {
    this.state.cancelled ??= reason;
  }

  step(event: CoreEvent, view: EvaluationView, env: CoreEnv): OwnerEffect[] {
    const { state } = this;
    if (event.kind === 'answered') {
      state.writing = false;
      if (event.answer === 'lost') return this.isOver(view) ? this.finish(view) : this.displaced(view, env);
      if (state.phase === 'claiming') state.phase = 'active';
    }
    if (state.phase === 'done' || state.writing) return [];
    if (this.isOver(view)) return this.finish(view);
    switch (state.phase) {
      case 'reading':
        return event.kind === 'caught_up' ? this.claim(view, env) : [];
      case 'claiming':
        return [];
      case 'active':
        return this.act(view, env);
      case 'displaced':
        return this.waitForTurn(view, env);
      default:
        return state.phase satisfies never;
    }
  }

  /** Closed is the coordinator's last word; what is left is the projector's. */
  protected isOver(view: EvaluationView): boolean {
    return view.state.closed !== null;
  }

  protected newSession(env: CoreEnv): string {
    return env.random128();
  }

  protected readToEnd(): OwnerEffect {
    this.state.phase = 'reading';
    return { kind: 'read_to_end', eval: this.evaluation };
  }

  protected claim(view: EvaluationView, env: CoreEnv): OwnerEffect[] {
    if (this.refusal(view).length > 0) return this.finish(view);
    const parent = view.live.parent;
    const draft: Draft =
      parent === null
        ? startedDraft(this.deps.accepted, this.deps.trustStore, this.deps.software)
        : { type: 'writer_changed', body: { displaced: parent.writer, reason: 'the partition has a new owner' } };
    this.state.session = this.newSession(env);
    this.state.phase = 'claiming';
    this.state.sent = this.sentBefore(view);
    return [this.write([draft])];
  }

  /** After a take-over nobody knows which commands arrived, so all of them are sent again. */
  protected sentBefore(_view: EvaluationView): Set<ChildRunId> {
    return new Set();
  }

  protected act(view: EvaluationView, env: CoreEnv): OwnerEffect[] {
    if (!this.mayAct(view)) return this.displaced(view, env);
    const drafts = this.drafts(view, this.decideInput(env));
    if (drafts.length > 0) return [this.write(drafts)];
    const effects: OwnerEffect[] = [];
    for (const id of view.state.open) {
      if (this.state.sent.has(id) || view.state.children.get(id)?.sealed != null) continue;
      this.state.sent.add(id);
      effects.push({ kind: 'send', child: id });
    }
    const deadline = view.state.started === null ? 0 : Date.parse(view.state.started.body.plan.deadline);
    return [...effects, { kind: 'wake', at: deadline }];
  }

  protected drafts(view: EvaluationView, input: DecideInput): Draft[] {
    return decide(view, input);
  }

  protected decideInput(env: CoreEnv): DecideInput {
    return {
      now: env.now,
      cancelled: this.state.cancelled,
      starting: this.deps.starting,
      runToken: () => env.random128(),
    };
  }

  /** Checked again right before each effect. */
  protected mayAct(view: EvaluationView): boolean {
    const { session } = this.state;
    return session !== null && mayContinue(view.live, this.evaluation, { key: this.deps.key, session });
  }

  /** Whoever is displaced stops under that session, and tries again only after one lease time without an entry from the other. */
  protected displaced(view: EvaluationView, env: CoreEnv): OwnerEffect[] {
    this.state.phase = 'displaced';
    this.state.session = null;
    return this.watch(view, env);
  }

  private watch(view: EvaluationView, env: CoreEnv): OwnerEffect[] {
    const patience = this.deps.leaseMs + env.below(this.deps.leaseMs);
    this.state.seen = { length: view.live.parent?.hashes.length ?? 0, at: env.now, patience };
    return [{ kind: 'wake', at: env.now + patience }];
  }

  private waitForTurn(view: EvaluationView, env: CoreEnv): OwnerEffect[] {
    const { seen } = this.state;
    if ((view.live.parent?.hashes.length ?? 0) !== seen.length) return this.watch(view, env);
    if (env.now < seen.at + seen.patience) return [{ kind: 'wake', at: seen.at + seen.patience }];
    return [this.readToEnd()];
  }

  private write(drafts: readonly Draft[]): OwnerEffect {
    this.state.writing = true;
    return { kind: 'write', ledger: this.evaluation, session: this.state.session as string, drafts };
  }

  /** The owner, not the intake, decides that one id came with two contents: what began counts, open or closed. */
  private refusal(view: EvaluationView): OwnerEffect[] {
    const { started } = view.state;
    if (started === null || started.body.request_digest === requestDigest(this.deps.accepted.request)) return [];
    const { request_id, requester } = started.body;
    return [{ kind: 'refused', code: 'request_conflict', reason: conflictReason(requester, request_id) }];
  }

  private finish(view: EvaluationView): OwnerEffect[] {
    if (this.state.phase === 'done') return [];
    this.state.phase = 'done';
    return [...this.refusal(view), { kind: 'finished' }];
  }
}
