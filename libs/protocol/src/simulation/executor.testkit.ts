import type { ChildRunId } from '#lib/ledger';
import { OffsetTracker } from '../offsets.js';
import type { RunCore } from '../run.js';
import { type AnyEffect, type Host, Process } from './process.testkit.js';
import { fate } from './random.testkit.js';
import { contextOf } from './scenario.testkit.js';
import { actionName, simulateWork } from './work.testkit.js';
import type { Command } from './world.testkit.js';

export function partitionOf(child: ChildRunId, partitions: number): number {
  return fate(child) % partitions;
}

interface Assignment {
  next: number;
  readonly partition: number;
  readonly tracker: OffsetTracker;
  readonly waiting: { readonly position: number; readonly command: Command }[];
  fetching: boolean;
}

interface Job extends Host {
  readonly core: RunCore;
  readonly records: { readonly assignment: Assignment; readonly position: number }[];
}

/** An executor: it takes commands of its partitions, a few at a time, and hosts a run's core for each. */
export class Executor extends Process {
  private assignments = new Map<number, Assignment>();
  private jobs = new Map<ChildRunId, Job>();

  override crash(): void {
    super.crash();
    this.assignments = new Map();
    this.jobs = new Map();
  }

  assigned(partition: number): void {
    if (this.assignments.has(partition)) return;
    const next = this.world.committedOf('executors', partition);
    this.trace(() => `owns commands ${partition} from ${next}`);
    this.assignments.set(partition, { next, partition, tracker: new OffsetTracker(), waiting: [], fetching: false });
    this.consume();
  }

  /** What runs goes on: its lease tells the next owner of the partition. */
  revoked(partition: number): void {
    this.trace(() => `knows that it lost commands ${partition}`);
    this.assignments.delete(partition);
  }

  consume(): void {
    const { world } = this;
    for (const assignment of this.assignments.values()) {
      const topic = world.commands[assignment.partition] ?? [];
      if (assignment.fetching || assignment.next >= topic.length) continue;
      assignment.fetching = true;
      world.later(world.latency(), this, () => {
        assignment.fetching = false;
        if (this.assignments.get(assignment.partition) !== assignment) return;
        while (assignment.next < topic.length) {
          const position = assignment.next++;
          assignment.tracker.began(position);
          assignment.waiting.push({ position, command: topic[position] as Command });
        }
        this.fill();
      });
    }
  }

  private fill(): void {
    for (const assignment of this.assignments.values()) {
      const { waiting } = assignment;
      for (let i = 0; i < waiting.length; ) {
        const { position, command } = waiting[i] as (typeof waiting)[number];
        const running = this.jobs.get(command.child);
        if (running === undefined && this.jobs.size >= this.world.mix.slots) {
          i++;
          continue;
        }
        waiting.splice(i, 1);
        if (running !== undefined) running.records.push({ assignment, position });
        else this.begin(command, { assignment, position });
      }
    }
  }

  private begin({ eval: evaluation, child }: Command, record: Job['records'][number]): void {
    const { rules, mix } = this.world;
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
      records: [record],
      over: false,
      wakeAt: Number.POSITIVE_INFINITY,
      step: (event, view, env) => core.step(event, view, env),
    };
    this.trace(() => `takes the command of ${child.slice(35)}`);
    this.jobs.set(child, job);
    this.hosts.push(job);
    this.start(job, core.begin());
  }

  protected finished(job: Job): void {
    const { world } = this;
    job.over = true;
    this.jobs.delete(job.core.child);
    this.hosts.splice(this.hosts.indexOf(job), 1);
    for (const { assignment, position } of job.records) {
      const { partition, tracker } = assignment;
      const offset = tracker.finished(position);
      if (this.assignments.get(partition) !== assignment) continue;
      world.referee.offset('executors', partition, offset);
      this.trace(() => `commits ${offset} of commands ${partition}`);
      world.later(world.latency(), null, () => world.commit('executors', partition, offset));
    }
    this.fill();
  }

  protected perform(job: Job, effect: AnyEffect): void {
    switch (effect.kind) {
      case 'perform': {
        const { world } = this;
        const { id, action } = effect;
        const view = this.view(job.evaluation);
        this.trace(() => `${job.label} performs ${actionName(action)}`);
        world.referee.acted(view, job.core.child, { key: this.key.id, session: job.core.state.session ?? '' }, action);
        const work = simulateWork(action, view, contextOf(view, job.core.child));
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
