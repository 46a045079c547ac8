import type { EvaluationView } from '#lib/evaluation';
import type { EvalRunId } from '#lib/ledger';
import type { CoreEnv } from '../effects.js';
import type { RunEvent } from '../run.js';
import type { Taken } from './consumer.testkit.js';
import { type AnyEffect, type Host, Process } from './process.testkit.js';
import type { AcceptedRecord } from './world.testkit.js';

/** A core for one evaluation. */
interface EvaluationCore {
  begin(): AnyEffect[];
  step(event: Exclude<RunEvent, { kind: 'progress' | 'performed' }>, view: EvaluationView, env: CoreEnv): AnyEffect[];
}

export interface HostedEvaluation<Core> extends Host {
  readonly core: Core;
  readonly partition: number;
  /** The record that brought it. */
  readonly record: AcceptedRecord;
  /** The records that are finished when the evaluation is. */
  readonly records: Taken[];
}

/** A process that owns partitions of `eval.accepted`, or believes so, and hosts a core for each evaluation on them. */
export abstract class AcceptedReader<
  Core extends EvaluationCore,
  Hosted extends HostedEvaluation<Core>,
> extends Process {
  protected owned = new Map<EvalRunId, Hosted>();

  override crash(): void {
    super.crash();
    this.owned = new Map();
  }

  take(taken: Taken): void {
    this.takeRecord(taken, this.world.accepted[taken.partition]?.[taken.position] as AcceptedRecord);
  }

  protected abstract takeRecord(taken: Taken, record: AcceptedRecord): void;

  lost(partitions: readonly number[]): void {
    for (const [evaluation, hosted] of this.owned) {
      if (!partitions.includes(hosted.partition)) continue;
      this.owned.delete(evaluation);
      this.stop(hosted);
      this.closeView(hosted);
    }
  }

  /** What is finished is asked of the log when it comes again. */
  protected release(hosted: Hosted): void {
    const known = this.owned.get(hosted.evaluation);
    if (this.world.rules.releasesByName ? known === undefined : known !== hosted) return;
    this.owned.delete(hosted.evaluation);
    this.closeView(known ?? hosted);
    this.consumer.finish(hosted.records);
  }

  protected hosted(
    core: Core,
    evaluation: EvalRunId,
    label: string,
    taken: Taken,
    record: AcceptedRecord,
  ): HostedEvaluation<Core> {
    return {
      core,
      evaluation,
      child: null,
      label: `${label} ${evaluation.slice(3, 7)}`,
      partition: taken.partition,
      record,
      records: [taken],
      opened: false,
      begun: false,
      over: false,
      wakeAt: Number.POSITIVE_INFINITY,
      begin: () => core.begin(),
      step: (event, view, env) =>
        event.kind === 'progress' || event.kind === 'performed' ? [] : core.step(event, view, env),
    };
  }
}
