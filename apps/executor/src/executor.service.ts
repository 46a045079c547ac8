import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { TopicRecord } from '#lib/event-log';
import { chainOf, type ChildRunId, type Entry, isChildRunId, parseChildRunId } from '#lib/ledger';
import { RunCore, type RunEffect, type RunEvent } from '#lib/protocol';
import {
  type Consuming,
  consumeTracked,
  CoreHost,
  EvaluationViews,
  LedgerWriter,
  PORTS,
  type Ports,
} from '#lib/runtime';
import { ActionRunner } from './action-runner.js';
import { FileHints } from './file-hints.js';
import { Slots } from './slots.js';

/** How long a command waits for a request that is not in the ledger yet. */
const REQUEST_WAIT_MS = 60_000;
/** Runs of a partition that are held at the least, with those that wait for a slot. */
const MOST_RUNS = 64;

interface Running {
  /** Leaves the run to whoever takes it up next. */
  readonly handBack: () => Promise<void>;
  readonly finishers: (() => void)[];
  readonly hints: FileHints;
}

/** Takes commands and runs their children: each by its core, outside the consumer's handler. */
@Injectable()
export class ExecutorService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly writer: LedgerWriter;
  private readonly holder: string;
  private readonly running = new Map<ChildRunId, Running>();
  private readonly slots: Slots;
  private consumer: Consuming | null = null;
  private stopping = false;

  constructor(
    @Inject(PORTS) private readonly ports: Ports,
    @Inject(EvaluationViews) private readonly views: EvaluationViews,
  ) {
    this.writer = new LedgerWriter(ports.log, ports.signers.executor, ports.now);
    this.holder = ports.random128();
    this.slots = new Slots(ports.slots);
  }

  async onApplicationBootstrap(): Promise<void> {
    const { topics, fatal, slots } = this.ports;
    const take = (record: TopicRecord, finished: () => void): Promise<void> => {
      // A copy waits with the first of its run, and holds no other run up.
      if (this.running.has(record.key as ChildRunId)) return this.take(record, finished);
      const run = Promise.withResolvers<void>();
      const taken = this.take(record, () => {
        finished();
        run.resolve();
      });
      return taken.then(() => run.promise);
    };
    // Some may be of runs that another executor has not given up yet: there are enough others for all slots.
    const most = Math.max(MOST_RUNS, slots * 4);
    this.consumer = await consumeTracked(topics, 'eval.child-run.commands', 'executor', take, fatal, { most });
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopping = true;
    // First the leases, then the partitions: whoever is given the commands again finds the runs free.
    await Promise.all([...this.running.values()].map((run) => run.handBack()));
    await this.consumer?.stop();
  }

  private async take(record: TopicRecord, finished: () => void): Promise<void> {
    // Not finished, so that it is given to another.
    if (this.stopping) return;
    const child = record.key;
    if (!isChildRunId(child)) {
      await this.ports.topics.refuse(record, 'bad_id', 'a command names a child run');
      finished();
      return;
    }
    // Left by an earlier process: its evaluation's owner sends it again when it is driven.
    if (!this.ports.drives(parseChildRunId(child).eval)) return finished();
    const running = this.running.get(child);
    // A copy is finished when the run is, not before.
    if (running !== undefined) {
      running.hints.add(record);
      return void running.finishers.push(finished);
    }
    const hints = new FileHints(record);
    this.running.set(child, { handBack: async () => {}, finishers: [finished], hints });
    await this.run(child, record, hints);
  }

  private async run(child: ChildRunId, record: TopicRecord, hints: FileHints): Promise<void> {
    const { ports } = this;
    const evaluation = parseChildRunId(child).eval;
    const open = await this.views.open(evaluation);
    if (this.stopping) return;
    const actions = new ActionRunner(ports, open, hints);
    const core = new RunCore(evaluation, child, {
      key: ports.signers.executor.keyId,
      leaseMs: ports.leaseMs,
      context: (view) => actions.contextOf(view, child),
    });
    const env = () => ({ now: ports.now(), random128: ports.random128, below: ports.below });
    const handedBack = Promise.withResolvers<void>();
    const host = new CoreHost<RunEvent, RunEffect>(
      core,
      { open, writer: this.writer, env, stallMs: ports.stallMs ?? ports.leaseMs / 2, fatal: ports.fatal },
      (effect) => {
        switch (effect.kind) {
          case 'perform':
            if (this.stopping) return handedBack.resolve();
            actions.perform(child, core.state.session, effect, (event) => host.post(event), ports.fatal);
            return;
          case 'abort':
            actions.abort();
            if (this.stopping) handedBack.resolve();
            return;
          case 'lease':
            if (this.stopping && core.state.phase === 'leasing') return;
            this.slots.take(child, () => {
              ports.leases
                .hold(child, this.holder, ports.leaseMs, chainOf(open.view.live, child) !== null)
                .then(async (granted) => {
                  if (granted && this.stopping && core.state.phase === 'leasing') {
                    await ports.leases.release(child, this.holder);
                    return;
                  }
                  // A run that is under way keeps its slot until it stops, whatever is said of its lease.
                  if (!granted && core.state.phase === 'leasing') this.slots.release(child);
                  host.post({ kind: 'leased', granted });
                })
                .catch(ports.fatal);
            });
            return;
          case 'release':
            if (this.stopping) handedBack.resolve();
            this.slots.release(child);
            ports.leases.release(child, this.holder).catch(ports.fatal);
            return;
          case 'finished':
            finish().catch(ports.fatal);
            return;
          case 'send':
            throw new Error('an executor sends no command');
          default:
            effect satisfies never;
        }
      },
    );
    const unsubscribe = open.subscribe((entry) => {
      if (concernsRun(entry, child)) host.post({ kind: 'changed' });
    });
    const stop = async () => {
      clearTimeout(patience);
      unsubscribe();
      host.stop();
      actions.abort();
      await actions.dispose();
    };
    /** The action under way, and what is being written of it, come to their end if that is soon; no other action begins. */
    const handBack = async () => {
      if (core.state.acting !== null || core.state.writing) {
        const late = setTimeout(handedBack.resolve, ports.handBackMs ?? 0);
        await handedBack.promise;
        clearTimeout(late);
      }
      await stop();
      this.slots.release(child);
      await ports.leases.release(child, this.holder);
    };
    const finish = async () => {
      handedBack.resolve();
      await stop();
      const finishers = this.running.get(child)?.finishers ?? [];
      this.running.delete(child);
      for (const finished of finishers) finished();
      await this.views.close(evaluation);
    };
    const giveUp = async () => {
      // The log may be slow to read: what it says of the command is not known yet.
      if (core.state.phase === 'judging') patience = beginPatience();
      if (core.state.phase !== 'waiting') return;
      await ports.topics.refuse(record, 'not_requested', `no evaluation has requested the run ${child}`);
      if (core.state.phase === 'waiting') await finish();
    };
    const beginPatience = () => setTimeout(() => void giveUp().catch(ports.fatal), REQUEST_WAIT_MS);
    let patience = beginPatience();
    this.running.set(child, { handBack, finishers: this.running.get(child)?.finishers ?? [], hints });
    host.begin();
  }
}

function concernsRun(entry: Entry, child: ChildRunId): boolean {
  if (entry.ledger === child || entry.type === 'eval_closed') return true;
  return entry.type === 'child_requested' && entry.body.child_run_id === child;
}
