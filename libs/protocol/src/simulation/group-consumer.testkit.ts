import { type Consumer, newTracked, type Taken, type Tracked } from './consumer.testkit.js';
import type { ConsumerGroup, Member } from './consumer-group.testkit.js';
import type { Process } from './process.testkit.js';

/** Where a partition stands, while it is this member's. */
interface Delivery {
  next: number;
  finished: number;
  committed: number;
  fetching: boolean;
}

/** One member of a group as `TopicConsumer` and `consumeTracked` have it. */
export class GroupConsumer implements Consumer, Member {
  private id = '';
  private generation = 0;
  /** Null until it is known where to begin. */
  private assigned = new Map<number, Delivery | null>();
  private trackers = new Map<number, Tracked>();
  private committing = false;
  private member = '';

  constructor(
    readonly process: Process,
    private readonly group: ConsumerGroup,
  ) {}

  reset(): void {
    const { id, process } = this;
    // The group hears of it by its silence.
    if (id !== '') process.world.later(this.sessionMs, null, () => this.group.leave(id, 'silent'));
    this.id = '';
    this.member = '';
    this.assigned = new Map();
    this.trackers = new Map();
    this.committing = false;
  }

  private get sessionMs(): number {
    return this.process.world.kafka?.mix.sessionMs ?? 0;
  }

  /** A paused process sends no heartbeats. */
  paused(): void {
    const { process, id } = this;
    const { pauses, incarnation } = process;
    process.world.later(this.sessionMs, null, () => {
      if (process.paused && process.pauses === pauses && process.incarnation === incarnation)
        this.group.leave(id, 'silent');
    });
  }

  /** Its connection broke, or its process ends in order: it is out of the group, and knows it. */
  leave(): void {
    this.group.leave(this.id, 'left');
    this.lose([...this.assigned.keys()]);
    this.member = '';
  }

  consume(): void {
    if (!this.process.alive) return;
    if (this.id === '') {
      this.id = 'joining';
      this.process.world.later(this.process.world.latency(), this.process, () => {
        this.id = this.group.join(this);
      });
    }
    for (const [partition, delivery] of this.assigned) if (delivery !== null) this.fetch(partition, delivery);
  }

  rejoin(id: string): void {
    if (id === this.id) this.id = this.group.joinAgain(id, this);
  }

  joined(id: string, generation: number, partitions: readonly number[]): void {
    if (id !== this.id || generation <= this.generation) return;
    // Under another name it was out of the group for a time, in which others had what it had.
    const stayed = id === this.member;
    this.member = id;
    this.generation = generation;
    this.lose([...this.assigned.keys()].filter((partition) => !stayed || !partitions.includes(partition)));
    for (const partition of partitions) if (!this.assigned.has(partition)) this.assigned.set(partition, null);
    const unknown = partitions.filter((partition) => this.assigned.get(partition) === null);
    if (unknown.length > 0) this.locate(unknown, id);
    this.flush();
  }

  private locate(partitions: readonly number[], id: string): void {
    const { world, group } = this.process;
    world.later(world.latency(), this.process, () => {
      const offsets = partitions.map((partition) => world.committedOf(group, partition));
      world.later(world.latency(), this.process, () => {
        if (this.member !== id) return;
        for (const [at, partition] of partitions.entries()) {
          if (this.assigned.get(partition) !== null) continue;
          const start = offsets[at] as number;
          this.process.trace(() => `has ${partition} from ${start}`);
          this.assigned.set(partition, { next: start, finished: start, committed: start, fetching: false });
        }
        this.consume();
      });
    });
  }

  private lose(partitions: readonly number[]): void {
    if (partitions.length === 0) return;
    this.process.trace(() => `lost ${partitions.join()}`);
    for (const partition of partitions) {
      this.assigned.delete(partition);
      if (!this.process.world.rules.keepsLostTrackers) this.trackers.delete(partition);
    }
    this.process.lost(partitions);
  }

  private fetch(partition: number, delivery: Delivery): void {
    const { world, group } = this.process;
    const topic = world.topic(group, partition);
    if (delivery.fetching || delivery.next >= topic.length) return;
    delivery.fetching = true;
    world.later(world.latency(), this.process, () => {
      delivery.fetching = false;
      const end = Math.min(topic.length, delivery.next + 1 + world.chance.below(3));
      while (delivery.next < end && this.assigned.get(partition) === delivery) {
        const position = delivery.next++;
        const tracked = this.trackers.get(partition) ?? newTracked();
        this.trackers.set(partition, tracked);
        tracked.tracker.began(position);
        this.process.take({ partition, position, tracked });
      }
      if (this.assigned.get(partition) === delivery) this.fetch(partition, delivery);
    });
  }

  finish(taken: readonly Taken[]): void {
    for (const { partition, position, tracked } of taken) {
      tracked.tracker.finished(position);
      if (this.trackers.get(partition) === tracked) this.commit(partition, tracked);
    }
  }

  private commit(partition: number, tracked: Tracked): void {
    const { process } = this;
    const offset = tracked.tracker.committable();
    if (offset <= tracked.committed) return;
    tracked.committed = offset;
    const delivery = this.assigned.get(partition);
    if (process.world.rules.keepsLostTrackers && delivery == null) {
      const { id, generation } = this;
      process.world.later(process.world.latency(), null, () => this.group.commit(id, generation, partition, offset));
    }
    // What is another's is for the other to finish.
    if (delivery == null) return;
    process.world.referee.offset(process.group, partition, offset);
    delivery.finished = Math.max(delivery.finished, offset);
    this.flush();
  }

  /** One commit at a time, of everything that is finished by then; one that the group refused is made again for what is left. */
  private flush(): void {
    if (this.committing) return;
    const behind = [...this.assigned].flatMap(([partition, delivery]) =>
      delivery !== null && delivery.finished > delivery.committed
        ? [{ partition, delivery, to: delivery.finished }]
        : [],
    );
    if (behind.length === 0) return;
    this.committing = true;
    const { process, id, generation } = this;
    const { world } = process;
    world.later(world.latency(), null, () => {
      const accepted = behind.filter(({ partition, to }) => this.group.commit(id, generation, partition, to));
      process.trace(
        () => `commits ${behind.map(({ partition, to }) => `${to} of ${partition}`).join()}: ${accepted.length}`,
      );
      world.later(world.latency(), process, () => {
        this.committing = false;
        for (const { delivery, to } of accepted) delivery.committed = Math.max(delivery.committed, to);
        if (accepted.length === behind.length) this.flush();
        else world.later(20, process, () => this.flush());
      });
    });
  }
}
