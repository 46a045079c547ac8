import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { z } from 'zod';
import { acceptedSchema, type EvalAccepted, requestDigest, usageOf } from '#lib/evaluation';
import type { TopicRecord } from '#lib/event-log';
import type { Entry, EvalRunId } from '#lib/ledger';
import { type HeldLesson, readProof, verifyLessonProof } from '#lib/lessons';
import { conflictReason, OwnerCore, type OwnerEffect } from '#lib/protocol';
import {
  type Consuming,
  consumeTracked,
  CoreHost,
  EvaluationViews,
  LedgerWriter,
  PORTS,
  type Ports,
} from '#lib/runtime';

interface Running {
  readonly core: OwnerCore;
  readonly host: CoreHost<never, OwnerEffect>;
  readonly stop: () => void;
}

interface Owned {
  /** Of the request that is being driven. */
  readonly digest: string;
  /** Of the records that are finished when the evaluation is: its acceptance, repeats of it, cancels. */
  readonly finishers: (() => void)[];
  readonly running: Promise<Running>;
}

/** How long a cancel waits for an evaluation that is not there yet. */
const CANCEL_WAIT_MS = 60_000;

/** Owns the evaluations that were accepted: writes their ledgers and sends the commands of their runs. */
@Injectable()
export class OwnerService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly owned = new Map<EvalRunId, Owned>();
  private readonly writer: LedgerWriter;
  private consumer: Consuming | null = null;
  private readonly waits = new Set<NodeJS.Timeout>();
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
    const take = (record: TopicRecord, finished: () => void) => void this.take(record, finished).catch(fatal);
    this.consumer = await consumeTracked(topics, 'eval.accepted', 'coordinator', take, fatal);
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.finishing);
    await this.consumer?.stop();
    for (const timer of this.waits) clearTimeout(timer);
    for (const running of await Promise.allSettled([...this.owned.values()].map((owned) => owned.running))) {
      if (running.status === 'fulfilled') running.value.stop();
    }
  }

  private async take(record: TopicRecord, finished: () => void): Promise<void> {
    const parsed = acceptedSchema.safeParse(record.value);
    if (!parsed.success) {
      await this.refuse(record.key, 'bad_acceptance', z.prettifyError(parsed.error));
      return finished();
    }
    const accepted = parsed.data;
    const id = accepted.eval_run_id as EvalRunId;
    if (!this.ports.drives(id)) return;
    if (accepted.kind === 'cancel') return this.cancel(id, accepted.reason, accepted.accepted_at, finished);
    const digest = requestDigest(accepted.request);
    const known = this.owned.get(id);
    if (known === undefined) {
      const running = this.own(id, accepted);
      this.owned.set(id, { digest, finishers: [finished], running });
      await running;
    } else if (known.digest === digest) known.finishers.push(finished);
    else {
      const { requester, request_id } = accepted.request;
      await this.refuse(id, 'request_conflict', conflictReason(requester, request_id));
      finished();
    }
  }

  private async refuse(key: string, code: string, reason: string): Promise<void> {
    await this.ports.topics.publish('eval.dead-letter', key, { topic: 'eval.accepted', code, reason });
  }

  private async cancel(id: EvalRunId, reason: string, since: number, finished: () => void): Promise<void> {
    const owned = this.owned.get(id);
    if (owned !== undefined) {
      owned.finishers.push(finished);
      const { core, host } = await owned.running;
      core.cancel(reason);
      host.post({ kind: 'changed' });
      return;
    }
    if (this.ports.now() - since > CANCEL_WAIT_MS) {
      await this.refuse(id, 'not_found', `no open evaluation ${id} to cancel`);
      return finished();
    }
    const timer = setTimeout(() => {
      this.waits.delete(timer);
      this.cancel(id, reason, since, finished).catch(this.ports.fatal);
    }, 500);
    this.waits.add(timer);
  }

  private async own(id: EvalRunId, accepted: EvalAccepted): Promise<Running> {
    const { ports } = this;
    const core = new OwnerCore(id, {
      accepted,
      key: ports.signers.coordinator.keyId,
      trustStore: ports.trustStore,
      software: ports.software,
      leaseMs: ports.leaseMs,
      starting: await this.startingLessons(accepted),
    });
    const open = await this.views.open(id);
    const env = () => ({ now: ports.now(), random128: ports.random128, below: ports.below });
    let refused = Promise.resolve();
    const host = new CoreHost<never, OwnerEffect>(
      core,
      { open, writer: this.writer, env, fatal: ports.fatal },
      (effect) => {
        switch (effect.kind) {
          case 'send':
            ports.topics
              .publish('eval.child-run.commands', effect.child, { child_run_id: effect.child })
              .catch(ports.fatal);
            return;
          case 'refused':
            refused = this.refuse(id, effect.code, effect.reason);
            return;
          case 'finished':
            this.finish(refused.then(() => this.release(id, open.view.state.closed?.body.outcome ?? 'refused')));
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

  /** `eval.index` has the evaluation's end before the offset passes its acceptance. */
  private async release(id: EvalRunId, outcome: string): Promise<void> {
    const owned = this.owned.get(id);
    if (owned === undefined) return;
    const { stop } = await owned.running;
    stop();
    await this.ports.topics.publish('eval.index', id, { eval_run_id: id, outcome });
    this.owned.delete(id);
    await this.views.close(id);
    for (const finished of owned.finishers) finished();
  }

  private async startingLessons(accepted: EvalAccepted): Promise<HeldLesson[]> {
    const held: HeldLesson[] = [];
    for (const { lesson, proof } of accepted.request.starting_lessons) {
      const bytes = await this.ports.log.attachment(proof.sha256);
      if (bytes === null) throw new Error(`the proof of starting lesson ${lesson} is not in the log`);
      const verified = verifyLessonProof(readProof(bytes), { keys: this.ports.keys, expectLesson: lesson });
      if (!verified.ok) throw new Error(`starting lesson ${lesson} does not verify: ${verified.reason}`);
      held.push(verified.held);
    }
    return held;
  }
}

// A run's entries matter to the owner when they end it or spend money.
function concernsOwner(entry: Entry): boolean {
  return entry.ledger === entry.eval || entry.type === 'run_sealed' || usageOf(entry).cost_nano_usd !== 0;
}
