import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { acceptedSchema } from '#lib/evaluation';
import type { TopicRecord } from '#lib/event-log';
import type { EvalRunId, JsonValue } from '#lib/ledger';
import { ProjectionCore, type ProjectionEffect } from '#lib/protocol';
import {
  type Consuming,
  consumeTracked,
  CoreHost,
  EvaluationViews,
  LedgerWriter,
  type OpenView,
  PORTS,
  type Ports,
} from '#lib/runtime';

interface Projecting {
  /** Of the records that are finished when the evaluation's report is published. */
  readonly finishers: (() => void)[];
  stop: () => void;
}

/** Folds complete evaluations into their signed reports, and publishes each. */
@Injectable()
export class ProjectorService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly writer: LedgerWriter;
  private readonly projecting = new Map<EvalRunId, Projecting>();
  /** Reports that are being published: a shutdown waits for them. */
  private readonly finishing = new Set<Promise<void>>();
  private consumer: Consuming | null = null;

  constructor(
    @Inject(PORTS) private readonly ports: Ports,
    @Inject(EvaluationViews) private readonly views: EvaluationViews,
  ) {
    this.writer = new LedgerWriter(ports.log, ports.signers.projector, ports.now);
  }

  async onApplicationBootstrap(): Promise<void> {
    const { topics, fatal } = this.ports;
    const take = (record: TopicRecord, finished: () => void) => void this.take(record, finished).catch(fatal);
    this.consumer = await consumeTracked(topics, 'eval.accepted', 'projector', take, fatal);
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.finishing);
    await this.consumer?.stop();
    for (const { stop } of this.projecting.values()) stop();
  }

  private async take(record: TopicRecord, finished: () => void): Promise<void> {
    const accepted = acceptedSchema.safeParse(record.value);
    // The coordinator reads the same record, and is the one to complain.
    if (!accepted.success) return finished();
    const id = accepted.data.eval_run_id as EvalRunId;
    if (!this.ports.drives(id)) return;
    const known = this.projecting.get(id);
    if (known !== undefined) known.finishers.push(finished);
    else if (accepted.data.kind === 'cancel') finished();
    else {
      const projecting: Projecting = { finishers: [finished], stop: () => {} };
      this.projecting.set(id, projecting);
      await this.project(id, projecting);
    }
  }

  private async project(id: EvalRunId, projecting: Projecting): Promise<void> {
    const { ports } = this;
    const open = await this.views.open(id);
    const env = () => ({ now: ports.now(), random128: ports.random128, below: ports.below });
    const core = new ProjectionCore(id, ports.signers.projector.keyId);
    let published = Promise.resolve();
    const host = new CoreHost<never, ProjectionEffect>(
      core,
      { open, writer: this.writer, env, fatal: ports.fatal },
      (effect) => {
        if (effect.kind === 'publish') published = this.publish(id, open);
        else if (effect.kind === 'finished') this.finish(published.then(() => this.release(id, projecting)));
        else throw new Error(`a projector has no effect ${effect.kind}`);
      },
    );
    const unsubscribe = open.subscribe((entry) => {
      if (entry.ledger === id) host.post({ kind: 'changed' });
    });
    projecting.stop = () => {
      unsubscribe();
      host.stop();
    };
    host.begin();
  }

  private finish(work: Promise<void>): void {
    const done = work.catch(this.ports.fatal).finally(() => this.finishing.delete(done));
    this.finishing.add(done);
  }

  /** The offset passes the acceptance after the report was published, and not before. */
  private async release(id: EvalRunId, { finishers, stop }: Projecting): Promise<void> {
    stop();
    this.projecting.delete(id);
    await this.views.close(id);
    for (const finished of finishers) finished();
  }

  private async publish(id: EvalRunId, open: OpenView): Promise<void> {
    const report = open.view.state.report;
    if (report === null) throw new Error(`evaluation ${id} has no report to publish`);
    const { verdict, summary } = report.body as { verdict?: JsonValue; summary?: JsonValue };
    await this.ports.topics.publish('eval.report', id, {
      eval_run_id: id,
      report_ref: report.ref,
      verdict: verdict ?? null,
      summary: summary ?? null,
    });
  }
}
