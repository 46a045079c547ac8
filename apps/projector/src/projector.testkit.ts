import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteLog, type TopicHandler, type TopicRecord, type Topics } from '#lib/event-log';
import { type Entry, type EvalRunId, openTrustStore } from '#lib/ledger';
import { EvaluationViews, type Ports } from '#lib/runtime';
import type { ViewWriter } from '#lib/views';
import { contractWith } from '../../../libs/contract/src/smallest.testkit.js';
import { testPorts } from '../../../libs/runtime/src/ports.testkit.js';
import { requestFor } from '../../../libs/evaluation/src/scene.testkit.js';
import { type Evaluated, trust } from '../../../libs/verification/src/evaluation.testkit.js';
import { ProjectorService } from './projector.service.js';

/** What a projector needs of the world, and as little of the rest as can be. */
export function projectorPorts(
  part: Pick<Ports, 'log' | 'topics' | 'keys' | 'fatal'> & { readonly views: ViewWriter | null },
): Ports {
  const { views, ...given } = part;
  return testPorts({ ...given, ...(views === null ? {} : { views }) });
}

/** Serves as a projector; whoever starts it shuts it down. */
export async function startProjector(ports: Ports): Promise<ProjectorService> {
  const service = new ProjectorService(ports, new EvaluationViews(ports));
  await service.onApplicationBootstrap();
  return service;
}

/** An acceptance of what `evaluate` makes with the seed, as of now or of another time. */
export function acceptanceOf(evaluation: EvalRunId, seed = 1, accepted_at = Date.now()) {
  const request = requestFor(contractWith(), { requester: 'tests', request_id: `request ${seed}` });
  return { kind: 'eval', eval_run_id: evaluation, accepted_at, from: 0, request } as const;
}

/** A log with its topics, as one process of many sees it: partitions can be taken from it and given back. */
export class ProjectorWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'truss-projector-'));
  readonly keys = openTrustStore(trust);
  readonly open = openSqliteLog({ file: join(this.folder, 'truss.db'), keys: this.keys, mode: 'drive' });
  readonly failures: unknown[] = [];
  committed = 0;
  private handler: TopicHandler | null = null;
  private readonly delivered: TopicRecord[] = [];
  private readonly services: ProjectorService[] = [];

  constructor(private readonly evaluated: Evaluated) {}

  /** Ends everything; returns what went wrong in it. */
  async close(): Promise<readonly unknown[]> {
    for (const service of this.services.splice(0).reverse()) await service.onApplicationShutdown();
    await this.open.close();
    rmSync(this.folder, { recursive: true, force: true });
    return this.failures;
  }

  private topics(): Topics {
    return {
      ...this.open.topics,
      consume: async (topic, group, handler) => {
        this.handler = handler;
        const consumer = await this.open.topics.consume(topic, group, {
          record: (record) => {
            this.delivered.push(record);
            handler.record(record);
          },
        });
        return {
          stop: () => consumer.stop(),
          commit: async (position) => {
            this.committed = position;
            await consumer.commit(position);
          },
        };
      },
    };
  }

  async projector(views: ViewWriter | null): Promise<ProjectorService> {
    const { keys, failures } = this;
    const fatal = (error: unknown) => failures.push(error);
    const ports = projectorPorts({ log: this.open.log, topics: this.topics(), keys, views, fatal });
    const service = await startProjector(ports);
    this.services.push(service);
    return service;
  }

  async accept(at?: number): Promise<number> {
    const { evaluation } = this.evaluated;
    return this.open.topics.publish('eval.accepted', evaluation, acceptanceOf(evaluation, 1, at));
  }

  async append(entries: readonly Entry[]): Promise<void> {
    for (const bytes of this.evaluated.attachments.values()) await this.open.log.putAttachment(bytes);
    for (const entry of entries) {
      const answer = await this.open.log.append([{ entry, attachment: null }]);
      if (answer !== 'confirmed') throw new Error(`${entry.type} of ${entry.ledger} is ${answer}`);
    }
  }

  lose(): void {
    this.handler?.lost?.([0]);
  }

  giveBack(): void {
    for (const record of this.delivered.splice(0)) this.handler?.record(record);
  }

  async published(): Promise<unknown[]> {
    const refs: unknown[] = [];
    for await (const { value } of this.open.topics.list('eval.report'))
      refs.push((value as { report_ref?: unknown }).report_ref);
    return refs;
  }

  async ledger(): Promise<number> {
    let records = 0;
    for await (const _ of this.open.log.records(this.evaluated.evaluation)) records += 1;
    return records;
  }
}
