import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { type EvalAccepted, type EvaluationView, requestDigest, usageOf } from '#lib/evaluation';
import type { IndexRecord, TopicRecord } from '#lib/event-log';
import type { Entry, EvalRunId } from '#lib/ledger';
import { conflictReason, OwnerCore, type OwnerEffect } from '#lib/protocol';
import {
  type Consuming,
  consumeTracked,
  CoreHost,
  EvaluationViews,
  LedgerWriter,
  PORTS,
  type Ports,
  readAcceptance,
} from '#lib/runtime';
import { startingLessons } from './starting-lessons.js';

interface Running {
  readonly core: OwnerCore;
  readonly view: EvaluationView;
  readonly host: CoreHost<never, OwnerEffect>;
  readonly stop: () => void;
}

interface Owned {
  /** Of the request that is being driven. */
  readonly digest: string;
  /** Of the acceptance: whoever is given it owns the evaluation. */
  readonly partition: number;
  /** Of the records that are finished when the evaluation is: its acceptance, repeats of it, cancels. */
  readonly finishers: (() => void)[];
  /** `null`: it was refused. */
  readonly running: Promise<Running | null>;
  /** What was read of it; null before it runs. */
  view: EvaluationView | null;
}

interface Cancel {
  readonly id: EvalRunId;
  readonly reason: string;
  readonly accepted_at: number;
  readonly record: TopicRecord;
  readonly finished: () => void;
}

/** How long a cancel waits for an evaluation that is not there yet. */
const CANCEL_WAIT_MS = 60_000;
const AGAIN_MS = 500;
/**
 * Evaluations of a partition that are being opened at once. One that is open takes up no room: a cancel stands behind it in the log, and may be
 * all that ends it soon.
 */
const OPENING = 64;

/** Owns the evaluations that were accepted: writes their ledgers and sends the commands of their runs. */
@Injectable()
export class OwnerService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly owned = new Map<EvalRunId, Owned>();
  private readonly writer: LedgerWriter;
  private consumer: Consuming | null = null;
  /** Records that are taken again in a moment, with the partition they came on. */
  private readonly waits = new Map<NodeJS.Timeout, number>();
  /** What was decided and is being written down: a shutdown waits for it. */
  private readonly finishing = new Set<Promise<void>>();

  constructor(
    @Inject(PORTS) private readonly ports: Ports,
    @Inject(EvaluationViews) private readonly views: EvaluationViews,
  ) {
    this.writer = new LedgerWriter(ports.log, ports.signers.coordinator, ports.now);
  }

  async onApplicationBootstrap(): Promise<void> {
    const { topics, fatal } = this.ports;
    const take = (record: TopicRecord, finished: () => void) => this.take(record, finished);
    this.consumer = await consumeTracked(topics, 'eval.accepted', 'coordinator', take, fatal, {
      most: OPENING,
      lost: (partitions) => this.lost(partitions),
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.finishing);
    await this.consumer?.stop();
    for (const timer of this.waits.keys()) clearTimeout(timer);
    for (const running of await Promise.allSettled([...this.owned.values()].map((owned) => owned.running))) {
      if (running.status === 'fulfilled') running.value?.stop();
    }
  }

  private async take(record: TopicRecord, finished: () => void): Promise<void> {
    const read = readAcceptance(record.value);
    if (read.kind === 'malformed') {
      await this.ports.topics.refuse(record, 'bad_acceptance', read.reason);
      return finished();
    }
    const { id, accepted } = read;
    if (!this.ports.drives(id)) return;
    if (!this.ports.log.isPlaceOf(id, record.partition)) {
      await this.ports.topics.refuse(record, 'bad_acceptance', `partition ${record.partition} is not that of ${id}`);
      return finished();
    }
    if (accepted.kind === 'cancel') return this.cancel({ id, record, finished, ...accepted });
    const digest = requestDigest(accepted.request);
    const known = this.owned.get(id);
    if (known === undefined) {
      const running = this.own(id, accepted, record);
      const owned: Owned = { digest, partition: record.partition, finishers: [finished], running, view: null };
      this.owned.set(id, owned);
      owned.view = (await running)?.view ?? null;
      return;
    }
    // What the ledger began with counts, and not what this process saw first.
    const began = known.view?.state.started?.body.request_digest ?? (known.digest === digest ? digest : null);
    if (began === digest) known.finishers.push(finished);
    else if (began === null) this.later(record.partition, () => this.take(record, finished));
    else {
      const { requester, request_id } = accepted.request;
      await this.ports.topics.refuse(record, 'request_conflict', conflictReason(requester, request_id));
      finished();
    }
  }

  private later(partition: number, again: () => Promise<void>): void {
    const timer = setTimeout(() => {
      this.waits.delete(timer);
      again().catch(this.ports.fatal);
    }, AGAIN_MS);
    this.waits.set(timer, partition);
  }

  /** Another coordinator owns these from now on. It takes over by the ledger; here nothing more is written or sent. */
  private lost(partitions: readonly number[]): void {
    for (const [id, owned] of this.owned) {
      if (!partitions.includes(owned.partition)) continue;
      this.owned.delete(id);
      const giveUp = async () => {
        const running = await owned.running;
        running?.stop();
        if (running !== null) await this.views.close(id);
      };
      giveUp().catch(this.ports.fatal);
    }
    for (const [timer, partition] of this.waits) {
      if (!partitions.includes(partition)) continue;
      clearTimeout(timer);
      this.waits.delete(timer);
    }
  }

  private async cancel(cancel: Cancel): Promise<void> {
    const { id, reason, accepted_at, record, finished } = cancel;
    const owned = this.owned.get(id);
    if (owned !== undefined) {
      owned.finishers.push(finished);
      const running = await owned.running;
      running?.core.cancel(reason);
      running?.host.post({ kind: 'changed' });
      return;
    }
    if (this.ports.now() - accepted_at > CANCEL_WAIT_MS) {
      await this.ports.topics.refuse(record, 'not_found', `no open evaluation ${id} to cancel`);
      return finished();
    }
    this.later(record.partition, () => this.cancel(cancel));
  }

  private async own(id: EvalRunId, accepted: EvalAccepted, record: TopicRecord): Promise<Running | null> {
    const { ports } = this;
    const starting = await startingLessons(accepted, ports);
    if (typeof starting === 'string') {
      await ports.topics.refuse(record, 'bad_acceptance', starting);
      const finishers = this.owned.get(id)?.finishers ?? [];
      this.owned.delete(id);
      for (const finished of finishers) finished();
      return null;
    }
    const core = new OwnerCore(id, {
      accepted,
      key: ports.signers.coordinator.keyId,
      trustStore: ports.trustStore,
      software: ports.software,
      leaseMs: ports.leaseMs,
      starting,
    });
    const from = await this.index(id);
    const open = await this.views.open(id);
    const env = () => ({ now: ports.now(), random128: ports.random128, below: ports.below });
    const { files } = accepted.request;
    let refused = Promise.resolve();
    const host = new CoreHost<never, OwnerEffect>(
      core,
      { open, writer: this.writer, env, stallMs: ports.stallMs ?? ports.leaseMs / 2, fatal: ports.fatal },
      (effect) => {
        switch (effect.kind) {
          case 'send':
            ports.topics
              .publish('eval.child-run.commands', effect.child, { child_run_id: effect.child, files }, record.trace)
              .catch(ports.fatal);
            return;
          case 'refused':
            refused = ports.topics.refuse(record, effect.code, effect.reason);
            return;
          case 'finished':
            this.finish(
              refused.then(() => this.release(id, core, from, open.view.state.closed?.body.outcome ?? 'refused')),
            );
            return;
          case 'lease':
          case 'release':
            throw new Error(`an owner holds no lease: ${effect.kind}`);
          default:
            effect satisfies never;
        }
      },
    );
    const unsubscribe = open.subscribe((entry) => {
      if (concernsOwner(entry)) host.post({ kind: 'changed' });
    });
    host.begin();
    return {
      core,
      view: open.view,
      host,
      stop: () => {
        unsubscribe();
        host.stop();
      },
    };
  }

  private finish(work: Promise<void>): void {
    const done = work.catch(this.ports.fatal).finally(() => this.finishing.delete(done));
    this.finishing.add(done);
  }

  /**
   * Where the evaluation begins, which `eval.index` says before anything of it is written. Where that says nothing, nobody had begun it when this looked,
   * so it begins after the end as of before. What the acceptance says counts for nothing: a repeat of it comes long after the beginning.
   */
  private async index(id: EvalRunId): Promise<number> {
    const { log } = this.ports;
    const end = await log.endFor(id);
    const known = await log.beginningOf(id);
    if (known === null) await this.publishIndex({ eval_run_id: id, from: end, outcome: null });
    return known ?? end;
  }

  private async publishIndex(record: IndexRecord): Promise<void> {
    await this.ports.topics.publish('eval.index', record.eval_run_id, { ...record });
  }

  /** `eval.index` has the evaluation's end before the offset passes its acceptance. */
  private async release(id: EvalRunId, core: OwnerCore, from: number, outcome: string): Promise<void> {
    const owned = this.owned.get(id);
    const running = await owned?.running;
    // Where the partition was lost, and came back since, the work is that of another core.
    if (owned === undefined || running?.core !== core) return;
    running.stop();
    await this.publishIndex({ eval_run_id: id, from, outcome });
    if (this.owned.get(id) !== owned) return;
    this.owned.delete(id);
    await this.views.close(id);
    for (const finished of owned.finishers) finished();
  }
}

// A run's entries matter to the owner when they end it or spend money.
function concernsOwner(entry: Entry): boolean {
  return entry.ledger === entry.eval || entry.type === 'run_sealed' || usageOf(entry).cost_nano_usd !== 0;
}
