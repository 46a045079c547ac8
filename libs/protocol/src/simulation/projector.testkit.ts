import { canonicalJson, type EvalRunId } from '#lib/ledger';
import type { ProjectionCore } from '../projection.js';
import { AcceptedReader, type HostedEvaluation } from './accepted.testkit.js';
import type { Taken } from './consumer.testkit.js';
import type { AnyEffect } from './process.testkit.js';
import type { AcceptedRecord } from './world.testkit.js';

interface Projected extends HostedEvaluation<ProjectionCore> {
  published: 'no' | 'under way' | 'yes';
  ended: boolean;
}

/** A projector: for each accepted evaluation it waits for the end, offers the report and publishes the one that joined. */
export class Projector extends AcceptedReader<ProjectionCore, Projected> {
  protected takeRecord(taken: Taken, record: AcceptedRecord): void {
    const evaluation = record.accepted.eval_run_id as EvalRunId;
    const known = this.owned.get(evaluation);
    if (known !== undefined) known.records.push(taken);
    else if (record.accepted.kind === 'cancel') this.consumer.finish([taken]);
    else {
      const core = new this.world.rules.projection(evaluation, this.key.id);
      const projected: Projected = {
        ...this.hosted(core, evaluation, 'projection', taken, record),
        published: 'no',
        ended: false,
      };
      this.owned.set(evaluation, projected);
      this.host(projected);
    }
  }

  /** Published first, then committed. */
  protected finished(projected: Projected): void {
    this.stop(projected);
    projected.ended = true;
    if (projected.published !== 'under way') this.release(projected);
  }

  protected perform(projected: Projected, effect: AnyEffect): void {
    if (effect.kind !== 'publish') throw new Error(`a projector does not ${effect.kind}`);
    const { world } = this;
    const { eval: evaluation, report } = effect;
    projected.published = 'under way';
    world.referee.published(evaluation, report);
    const body = canonicalJson(this.view(evaluation).state.report?.body, 'any');
    this.trace(() => `publishes ${report.slice(35, 50)}`);
    const land = () => world.reports.push({ eval: evaluation, ref: report, body });
    this.log.publish('eval.report/0', land, () => {
      projected.published = 'yes';
      if (projected.ended) this.release(projected);
    });
  }
}
