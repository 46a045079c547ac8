import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { z } from 'zod';
import { type EvalAccepted, reportSchema } from '#lib/evaluation';
import type { TopicRecord } from '#lib/event-log';
import { type EvalRunId, toEnvelope } from '#lib/ledger';
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
  readAcceptance,
} from '#lib/runtime';
import { ViewFeed } from './view-feed.js';

interface Running {
  readonly core: ProjectionCore;
  /** Absent where this process keeps no views. */
  readonly feed: ViewFeed | null;
  /** Whether the evaluation was complete when it was opened, so that nothing has to come before it is finished. */
  readonly closed: boolean;
  readonly stop: () => void;
}

interface Projecting {
  /** Of the acceptance: whoever is given it reports on the evaluation. */
  readonly partition: number;
  /** Of the records that are finished when the evaluation's report is published and in the views. */
  readonly finishers: (() => void)[];
  readonly running: Promise<Running>;
}

/** Evaluations of a partition that are being opened, or were found complete, at once; those that go on for days take up no room. */
const OPENING = 64;

/** How far apart the clocks of the services may be. */
const CLOCKS_MS = 600_000;

/** Folds complete evaluations into their signed reports, publishes each, and keeps the views of all. */
@Injectable()
export class ProjectorService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly writer: LedgerWriter;
  private readonly projecting = new Map<EvalRunId, Projecting>();
  /** Reports that are being published, and what comes after that: a shutdown waits for them. */
  private readonly publishing = new Set<Promise<void>>();
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
    const take = (record: TopicRecord, finished: () => void) => this.take(record, finished);
    this.consumer = await consumeTracked(topics, 'eval.accepted', 'projector', take, fatal, {
      most: OPENING,
      lost: (partitions) => this.lost(partitions),
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.publishing);
    // Views that cannot be reached hold nobody up: whoever is given the acceptance next writes them.
    for (const { feed } of await this.running()) feed?.stop();
    await Promise.all(this.finishing);
    await this.consumer?.stop();
    for (const { feed, stop } of await this.running()) {
      feed?.stop();
      stop();
    }
  }

  private async running(): Promise<Running[]> {
    const all = await Promise.allSettled([...this.projecting.values()].map((one) => one.running));
    return all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  }

  private async take(record: TopicRecord, finished: () => void): Promise<void> {
    const read = readAcceptance(record.value);
    // The coordinator reads the same record, and is the one to complain.
    if (read.kind === 'malformed') return finished();
    const { id, accepted } = read;
    if (!this.ports.drives(id)) return;
    const known = this.projecting.get(id);
    if (known !== undefined) known.finishers.push(finished);
    else if (accepted.kind === 'cancel') finished();
    else {
      const released = Promise.withResolvers<void>();
      const running = this.project(id, accepted, record);
      this.projecting.set(id, { partition: record.partition, finishers: [finished, released.resolve], running });
      if ((await running).closed) await released.promise;
    }
  }

  /** Another projector has these from now on: it writes, publishes and commits what is left to do. */
  private lost(partitions: readonly number[]): void {
    for (const [id, projecting] of this.projecting) {
      if (!partitions.includes(projecting.partition)) continue;
      this.projecting.delete(id);
      const giveUp = async () => {
        const { feed, stop } = await projecting.running;
        feed?.stop();
        stop();
        await this.views.close(id);
      };
      giveUp().catch(this.ports.fatal);
    }
  }

  private async project(id: EvalRunId, accepted: EvalAccepted, record: TopicRecord): Promise<Running> {
    const { ports } = this;
    const { views } = ports;
    const open = await this.views.open(id);
    const feed = views === undefined || open.rows === null ? null : new ViewFeed(open, open.rows, { ...ports, views });
    const env = () => ({ now: ports.now(), random128: ports.random128, below: ports.below });
    const beginsBy = accepted.accepted_at + accepted.request.deadline_ms + CLOCKS_MS;
    const core = new ProjectionCore(id, ports.signers.projector.keyId, undefined, beginsBy);
    let published = Promise.resolve();
    const host = new CoreHost<never, ProjectionEffect>(
      core,
      { open, writer: this.writer, env, stallMs: ports.stallMs ?? ports.leaseMs / 2, fatal: ports.fatal },
      (effect) => {
        if (effect.kind === 'publish') {
          published = this.publish(id, open, record);
          this.keep(this.publishing, published);
        } else if (effect.kind === 'finished') {
          const release = published.then(
            () => this.release(id, core),
            () => {},
          );
          this.keep(this.finishing, release);
        } else throw new Error(`a projector has no effect ${effect.kind}`);
      },
    );
    const unsubscribe = open.subscribe((entry) => {
      if (entry.ledger === id) host.post({ kind: 'changed' });
    });
    host.begin();
    return {
      core,
      feed,
      closed: open.view.state.closed !== null,
      stop: () => {
        unsubscribe();
        host.stop();
      },
    };
  }

  private keep(set: Set<Promise<void>>, work: Promise<void>): void {
    const done = work.catch(this.ports.fatal).finally(() => set.delete(done));
    set.add(done);
  }

  /** The offset passes the acceptance after the report was published and stands in the views, and not before. */
  private async release(id: EvalRunId, core: ProjectionCore): Promise<void> {
    const projecting = this.projecting.get(id);
    const running = await projecting?.running;
    // Where the partition was lost, and came back since, the work is that of another core.
    if (projecting === undefined || running?.core !== core) return;
    const { feed, stop } = running;
    stop();
    if (feed !== null && !(await feed.finish())) return;
    feed?.stop();
    if (this.projecting.get(id) !== projecting) return;
    this.projecting.delete(id);
    await this.views.close(id);
    for (const finished of projecting.finishers) finished();
  }

  /** Typed, with the signed entry that it rests on. A body that is no report, which only a key of this system can have signed, is refused. */
  private async publish(id: EvalRunId, open: OpenView, acceptance: TopicRecord): Promise<void> {
    const { topics } = this.ports;
    const report = open.view.state.report;
    if (report === null) throw new Error(`evaluation ${id} has no report to publish`);
    const parsed = reportSchema.safeParse({ ...report.body, report_ref: report.ref });
    if (!parsed.success) return topics.refuse(acceptance, 'report_malformed', z.prettifyError(parsed.error));
    const value = { ...parsed.data, envelope: toEnvelope(report.envelope) };
    await topics.publish('eval.report', id, value, acceptance.trace);
  }
}
