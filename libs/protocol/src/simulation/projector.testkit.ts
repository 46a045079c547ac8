import { canonicalJson, type EvalRunId } from '#lib/ledger';
import type { ProjectionCore } from '../projection.js';
import { AcceptedReader, type HostedEvaluation } from './accepted.testkit.js';
import type { AnyEffect } from './process.testkit.js';
import type { World } from './world.testkit.js';

interface Projected extends HostedEvaluation<ProjectionCore> {
  publishing: boolean;
}

/** A projector: for each accepted evaluation it waits for the end, offers the report and publishes the one that joined. */
export class Projector extends AcceptedReader<ProjectionCore, Projected> {
  protected take(position: number, { accepted }: World['accepted'][number]): void {
    const evaluation = accepted.eval_run_id as EvalRunId;
    const known = this.owned.get(evaluation);
    if (accepted.kind === 'cancel') this.finishRecords([position]);
    else if (known !== undefined) this.attach(position, known);
    else this.begin(position, evaluation);
  }

  private begin(position: number, evaluation: EvalRunId): void {
    const core = new this.world.rules.projection(evaluation, this.key.id);
    const host: Projected = { ...this.hosted(core, evaluation, 'projection', position), publishing: false };
    this.host(host);
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
