import { canonicalJson, type EvalRunId } from '#lib/ledger';
import { OffsetTracker } from '../offsets.js';
import type { ProjectionCore } from '../projection.js';
import { type AnyEffect, type Host, Process } from './process.testkit.js';

interface Projected extends Host {
  readonly core: ProjectionCore;
  readonly positions: number[];
  publishing: boolean;
  done: boolean;
}

/** A projector: for each accepted evaluation it waits for the end, offers the report and publishes the one that joined. */
export class Projector extends Process {
  private owns = false;
  private next = 0;
  private tracker = new OffsetTracker();
  private projected = new Map<EvalRunId, Projected>();
  private fetching = false;

  override crash(): void {
    super.crash();
    this.fetching = false;
    this.letGo();
  }

  assigned(): void {
    if (this.owns) return;
    this.owns = true;
    this.next = this.world.committedOf('projectors', 0);
    this.trace(() => `owns the partition from ${this.next}`);
    this.consume();
  }

  revoked(): void {
    this.letGo();
  }

  private letGo(): void {
    this.owns = false;
    for (const host of this.hosts) host.over = true;
    this.hosts = [];
    this.projected = new Map();
    this.tracker = new OffsetTracker();
  }

  consume(): void {
    if (!this.owns || this.fetching || this.next >= this.world.accepted.length) return;
    this.fetching = true;
    this.world.later(this.world.latency(), this, () => {
      this.fetching = false;
      const record = this.world.accepted[this.next];
      if (!this.owns || record === undefined) return;
      this.take(this.next++, record.accepted);
      this.consume();
    });
  }

  private take(position: number, accepted: { readonly kind: 'eval' | 'cancel'; readonly eval_run_id: string }): void {
    this.tracker.began(position);
    const evaluation = accepted.eval_run_id as EvalRunId;
    const known = this.projected.get(evaluation);
    if (accepted.kind === 'cancel' || known?.done === true) this.finishRecords([position]);
    else if (known !== undefined) known.positions.push(position);
    else this.begin(position, evaluation);
  }

  private begin(position: number, evaluation: EvalRunId): void {
    const core = new this.world.rules.projection(evaluation, this.key.id);
    const host: Projected = {
      core,
      evaluation,
      child: null,
      label: `projection ${evaluation.slice(3, 7)}`,
      positions: [position],
      publishing: false,
      done: false,
      over: false,
      wakeAt: Number.POSITIVE_INFINITY,
      step: (event, view, env) =>
        event.kind === 'progress' || event.kind === 'performed' ? [] : core.step(event, view, env),
    };
    this.projected.set(evaluation, host);
    this.hosts.push(host);
    this.start(host, core.begin());
    this.drive(host, { kind: 'changed' });
  }

  /** Published first, then committed. */
  protected finished(host: Projected): void {
    const end = () => {
      host.done = true;
      if (!host.over) this.finishRecords(host.positions.splice(0));
    };
    if (host.publishing) this.world.later(3 * this.world.mix.latency, this, end);
    else end();
  }

  private finishRecords(positions: readonly number[]): void {
    const { world } = this;
    let offset = 0;
    for (const position of positions) offset = this.tracker.finished(position);
    world.referee.offset('projectors', 0, offset);
    this.trace(() => `commits ${offset}`);
    world.later(world.latency(), null, () => world.commit('projectors', 0, offset));
  }

  protected perform(host: Projected, effect: AnyEffect): void {
    if (effect.kind !== 'publish') throw new Error(`a projector does not ${effect.kind}`);
    const { world } = this;
    const { eval: evaluation, report } = effect;
    host.publishing = true;
    world.referee.published(evaluation, report);
    const body = canonicalJson(this.view(evaluation).state.report?.body, 'any');
    this.trace(() => `publishes ${report.slice(35, 50)}`);
    world.later(world.latency(), null, () => world.reports.push({ eval: evaluation, ref: report, body }));
  }
}
