import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { acceptedSchema } from '#lib/evaluation';
import type { TopicRecord } from '#lib/event-log';
import type { EvalRunId, JsonValue } from '#lib/ledger';
import { ProjectionCore, type ProjectionEffect } from '#lib/protocol';
import {
  consumeTracked,
  CoreHost,
  EvaluationViews,
  LedgerWriter,
  type OpenView,
  PORTS,
  type Ports,
} from '#lib/runtime';

/** Folds complete evaluations into their signed reports, and publishes each. */
@Injectable()
export class ProjectorService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly writer: LedgerWriter;
  private readonly projecting = new Map<EvalRunId, () => void>();
  private consumer: { stop(): void } | null = null;

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

  onApplicationShutdown(): void {
    this.consumer?.stop();
    for (const stop of this.projecting.values()) stop();
  }

  private async take(record: TopicRecord, finished: () => void): Promise<void> {
    const accepted = acceptedSchema.parse(record.value);
    const id = accepted.eval_run_id as EvalRunId;
    if (!this.ports.drives(id)) return;
    if (accepted.kind === 'cancel' || this.projecting.has(id)) {
      finished();
      return;
    }
    this.projecting.set(id, () => {});
    await this.project(id, finished);
  }

  private async project(id: EvalRunId, finished: () => void): Promise<void> {
    const { ports } = this;
    const open = await this.views.open(id);
    const env = () => ({ now: ports.now(), random128: ports.random128, below: ports.below });
    const core = new ProjectionCore(id, ports.signers.projector.keyId);
    const host = new CoreHost<never, ProjectionEffect>(
      core,
      { open, writer: this.writer, env, fatal: ports.fatal },
      (effect) => {
        if (effect.kind === 'publish') published = this.publish(id, open);
        else if (effect.kind === 'finished') {
          published.then(() => {
            stop();
            this.projecting.delete(id);
            finished();
            return this.views.close(id);
          }, ports.fatal);
        } else throw new Error(`a projector has no effect ${effect.kind}`);
      },
    );
    let published = Promise.resolve();
    const unsubscribe = open.subscribe((entry) => {
      if (entry.ledger === id) host.post({ kind: 'changed' });
    });
    const stop = () => {
      unsubscribe();
      host.stop();
    };
    this.projecting.set(id, stop);
    host.begin();
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
