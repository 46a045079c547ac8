import { chainOf, type ChildRunId } from '#lib/ledger';
import type { RunCore } from '../run.js';
import type { Taken } from './consumer.testkit.js';
import { type LeaseClient, leaseClient } from './leases.testkit.js';
import { type AnyEffect, type Host, Process } from './process.testkit.js';
import { fate } from './random.testkit.js';
import { contextOf } from './scenario.testkit.js';
import { actionName, simulateWork } from './work.testkit.js';
import type { Command } from './world.testkit.js';

export function partitionOf(child: ChildRunId, partitions: number): number {
  return fate(child) % partitions;
}

interface Job extends Host {
  readonly child: ChildRunId;
  readonly core: RunCore;
  readonly records: Taken[];
}

/** An executor: it hosts a run's core for each command, and acts for a few at a time; who waits for another's lease holds no slot. */
export class Executor extends Process {
  private jobs = new Map<ChildRunId, Job>();
  private slots = new Set<Job>();
  private queue = new Map<Job, () => void>();
  private leases: LeaseClient = leaseClient(this);

  override crash(): void {
    super.crash();
    this.jobs = new Map();
    this.slots = new Set();
    this.queue = new Map();
    this.leases = leaseClient(this);
  }

  /** Ends in order: whoever is given the commands again finds the runs free. */
  handBack(): void {
    for (const job of this.slots) this.leases.release(job.child);
  }

  /** What runs goes on: its lease tells the next owner of the partition. */
  lost(): void {}

  take(taken: Taken): void {
    const command = this.world.commands[taken.partition]?.[taken.position] as Command;
    const running = this.jobs.get(command.child);
    // A copy is finished when the run is, not before.
    if (running !== undefined) running.records.push(taken);
    else this.run(command, taken);
  }

  private run(command: Command, taken: Taken): void {
    const { rules, mix } = this.world;
    const { eval: evaluation, child } = command;
    const core = new rules.run(evaluation, child, {
      key: this.key.id,
      leaseMs: mix.leaseMs,
      context: (view) => contextOf(view, child),
    });
    const job: Job = {
      core,
      evaluation,
      child,
      label: `run ${child.slice(35)}`,
      records: [taken],
      opened: false,
      begun: false,
      over: false,
      wakeAt: Number.POSITIVE_INFINITY,
      begin: () => core.begin(),
      step: (event, view, env) => core.step(event, view, env),
    };
    this.trace(() => `takes the command of ${child.slice(35)}`);
    this.jobs.set(child, job);
    this.host(job, () => this.beginPatience(job));
  }

  /** A command that nobody asked for is refused after a while. */
  private beginPatience(job: Job): void {
    const { world } = this;
    world.later((world.kafka?.mix.patience ?? 10) * world.mix.leaseMs, this, () => {
      if (job.over) return;
      const { phase } = job.core.state;
      if (phase === 'judging' && world.rules.asksAgain) return this.beginPatience(job);
      if (phase !== 'waiting') return;
      this.trace(() => `refuses the command of ${job.child.slice(35)}`);
      const refused = () => {
        for (const { partition, position } of job.records)
          world.referee.refusedCommand(world.commands[partition]?.[position] as Command);
        this.finished(job);
      };
      this.log.publish('eval.dead-letter/0', () => world.deadLetters.push('not_requested'), refused);
    });
  }

  protected finished(job: Job): void {
    if (job.over) return;
    this.stop(job);
    this.jobs.delete(job.child);
    this.consumer.finish(job.records);
    this.closeView(job);
  }

  private takeSlot(job: Job, granted: () => void): void {
    if (!this.slots.has(job) && this.slots.size >= this.world.mix.slots) {
      this.queue.set(job, granted);
      return;
    }
    this.slots.add(job);
    granted();
  }

  private releaseSlot(job: Job): void {
    this.queue.delete(job);
    if (!this.slots.delete(job)) return;
    for (const [next, granted] of this.queue) {
      this.queue.delete(next);
      return this.takeSlot(next, granted);
    }
  }

  private lease(job: Job): void {
    this.takeSlot(job, () => {
      const begun = chainOf(this.view(job.evaluation).live, job.child) !== null;
      this.leases.hold(job.child, begun, (granted) => {
        // A run that is under way keeps its slot until it stops, whatever is said of its lease.
        if (!granted && job.core.state.phase === 'leasing') this.releaseSlot(job);
        this.drive(job, { kind: 'leased', granted });
      });
    });
  }

  protected perform(job: Job, effect: AnyEffect): void {
    switch (effect.kind) {
      case 'lease':
        return this.lease(job);
      case 'release':
        this.releaseSlot(job);
        this.leases.release(job.child);
        return;
      case 'perform': {
        const { world } = this;
        const { id, action } = effect;
        const view = this.view(job.evaluation);
        this.trace(() => `${job.label} performs ${actionName(action)}`);
        const writer = { key: this.key.id, session: job.core.state.session ?? '' };
        world.referee.acted(view, job.child, writer, action);
        const work = simulateWork(action, view, contextOf(view, job.child));
        const takes = world.chance.below(world.mix.workMs);
        if (work.progress.length > 0)
          world.later(takes >> 1, this, () => this.drive(job, { kind: 'progress', id, drafts: work.progress }));
        world.later(takes, this, () => this.drive(job, { kind: 'performed', id, drafts: work.result }));
        return;
      }
      case 'abort':
        this.trace(() => `${job.label} aborts`);
        return;
      default:
        throw new Error(`an executor does not ${effect.kind}`);
    }
  }
}
