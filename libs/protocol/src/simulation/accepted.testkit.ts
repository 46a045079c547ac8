import type { EvaluationView } from '#lib/evaluation';
import type { EvalRunId } from '#lib/ledger';
import type { CoreEnv } from '../effects.js';
import { OffsetTracker } from '../offsets.js';
import type { RunEvent } from '../run.js';
import { type AnyEffect, type Host, Process } from './process.testkit.js';
import type { World } from './world.testkit.js';

type AcceptedRecord = World['accepted'][number];

/** A core for one evaluation. */
interface EvaluationCore {
  begin(): AnyEffect[];
  step(event: Exclude<RunEvent, { kind: 'progress' | 'performed' }>, view: EvaluationView, env: CoreEnv): AnyEffect[];
}

export interface HostedEvaluation<Core> extends Host {
  readonly core: Core;
  /** The records that are finished when the evaluation is. */
  readonly positions: number[];
  done: boolean;
}

/** A process that owns the partition of `eval.accepted`, or believes so, and hosts a core for each evaluation on it. */
export abstract class AcceptedReader<
  Core extends EvaluationCore,
  Hosted extends HostedEvaluation<Core>,
> extends Process {
  protected owned = new Map<EvalRunId, Hosted>();
  private owns = false;
  private next = 0;
  private tracker = new OffsetTracker();
  private fetching = false;

  override crash(): void {
    super.crash();
    this.fetching = false;
    this.letGo();
  }

  assigned(): void {
    if (this.owns) return;
    this.owns = true;
    this.next = this.world.committedOf(this.group, 0);
    this.trace(() => `owns the partition from ${this.next}`);
    this.consume();
  }

  revoked(): void {
    this.trace(() => 'knows that it lost the partition');
    this.letGo();
  }

  protected letGo(): void {
    this.owns = false;
    for (const host of this.hosts) host.over = true;
    this.hosts = [];
    this.owned = new Map();
    this.tracker = new OffsetTracker();
  }

  consume(): void {
    if (!this.owns || this.fetching || this.next >= this.world.accepted.length) return;
    this.fetching = true;
    this.world.later(this.world.latency(), this, () => {
      this.fetching = false;
      const record = this.world.accepted[this.next];
      if (!this.owns || record === undefined) return;
      const position = this.next++;
      this.tracker.began(position);
      this.take(position, record);
      this.consume();
    });
  }

  protected abstract take(position: number, record: AcceptedRecord): void;

  protected attach(position: number, known: Hosted): void {
    if (known.done) this.finishRecords([position]);
    else known.positions.push(position);
  }

  protected hosted(core: Core, evaluation: EvalRunId, label: string, position: number): HostedEvaluation<Core> {
    return {
      core,
      evaluation,
      child: null,
      label: `${label} ${evaluation.slice(3, 7)}`,
      positions: [position],
      done: false,
      over: false,
      wakeAt: Number.POSITIVE_INFINITY,
      step: (event, view, env) =>
        event.kind === 'progress' || event.kind === 'performed' ? [] : core.step(event, view, env),
    };
  }

  protected host(host: Hosted): void {
    this.owned.set(host.evaluation, host);
    this.hosts.push(host);
    this.start(host, host.core.begin());
  }

  protected finishRecords(positions: readonly number[]): void {
    const { world } = this;
    let offset = 0;
    for (const position of positions) offset = this.tracker.finished(position);
    world.referee.offset(this.group, 0, offset);
    this.trace(() => `commits ${offset}`);
    world.later(world.latency(), null, () => world.commit(this.group, 0, offset));
  }
}
