import { OffsetTracker } from '../offsets.js';
import type { Process } from './process.testkit.js';

export interface Tracked {
  readonly tracker: OffsetTracker;
  committed: number;
}

/** A record that was taken, until its work is finished. */
export interface Taken {
  readonly partition: number;
  readonly position: number;
  readonly tracked: Tracked;
}

export const newTracked = (): Tracked => ({ tracker: new OffsetTracker(), committed: -1 });

/** How a process gets the records of its group, and says which are finished. */
export interface Consumer {
  /** The topic grew. */
  consume(): void;
  finish(taken: readonly Taken[]): void;
  /** Its process stands still from now on. */
  paused(): void;
  reset(): void;
}

interface Assignment {
  next: number;
  readonly tracked: Tracked;
  fetching: boolean;
}

/** Partitions given and taken by whoever runs the simulation, with no group that would notice who commits. */
export class AssignedConsumer implements Consumer {
  private assignments = new Map<number, Assignment>();

  constructor(private readonly process: Process) {}

  reset(): void {
    this.assignments = new Map();
  }

  paused(): void {}

  assigned(partition: number): void {
    if (this.assignments.has(partition)) return;
    const { process } = this;
    const next = process.world.committedOf(process.group, partition);
    process.trace(() => `owns ${partition} from ${next}`);
    this.assignments.set(partition, { next, tracked: newTracked(), fetching: false });
    this.consume();
  }

  revoked(partition: number): void {
    this.process.trace(() => `knows that it lost ${partition}`);
    this.assignments.delete(partition);
    this.process.lost([partition]);
  }

  consume(): void {
    for (const [partition, assignment] of this.assignments) this.fetch(partition, assignment);
  }

  private fetch(partition: number, assignment: Assignment): void {
    const { world, group } = this.process;
    if (assignment.fetching || assignment.next >= world.topic(group, partition).length) return;
    assignment.fetching = true;
    world.later(world.latency(), this.process, () => {
      assignment.fetching = false;
      const end = group === 'executors' ? world.topic(group, partition).length : assignment.next + 1;
      while (assignment.next < end && this.assignments.get(partition) === assignment) {
        const position = assignment.next++;
        assignment.tracked.tracker.began(position);
        this.process.take({ partition, position, tracked: assignment.tracked });
      }
      if (this.assignments.get(partition) === assignment) this.fetch(partition, assignment);
    });
  }

  finish(taken: readonly Taken[]): void {
    const { world, group } = this.process;
    for (const { position, tracked } of taken) tracked.tracker.finished(position);
    for (const [partition, { tracked }] of this.assignments) {
      if (!taken.some((record) => record.tracked === tracked)) continue;
      const offset = tracked.tracker.committable();
      world.referee.offset(group, partition, offset);
      this.process.trace(() => `commits ${offset} of ${partition}`);
      world.later(world.latency(), null, () => world.commit(group, partition, offset));
    }
  }
}
