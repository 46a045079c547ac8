import type { Entry } from '#lib/ledger';
import type { KafkaCluster } from './kafka-cluster.testkit.js';
import type { Process } from './process.testkit.js';

interface Place {
  next: number;
  fetching: boolean;
  waiting: { readonly position: number; readonly done: () => void }[];
}

/** Follows every partition of the ledger from its end on, each at its own pace: `StandingReader` of the adapter. */
export class StandingReader {
  private places: Place[] = [];

  constructor(
    private readonly process: Process,
    private readonly cluster: KafkaCluster,
    private readonly take: (position: number, entry: Entry) => void,
  ) {
    this.reset();
  }

  reset(): void {
    this.places = this.cluster.ledger.map(({ length }) => ({ next: length, fetching: false, waiting: [] }));
  }

  private place(partition: number): Place {
    return this.places[partition] as Place;
  }

  /** Everything of the partition below it was taken. */
  next(partition: number): number {
    return this.place(partition).next;
  }

  notice(): void {
    for (const partition of this.places.keys()) this.fetch(partition);
  }

  private fetch(partition: number): void {
    const place = this.place(partition);
    const { process, cluster } = this;
    const { world } = process;
    if (!process.alive || place.fetching || place.next >= cluster.partition(partition).length) return;
    place.fetching = true;
    world.later(cluster.wait + world.chance.below(world.mix.readDelay), process, () => {
      place.fetching = false;
      const log = cluster.partition(partition);
      const backlog = log.length - place.next;
      const partial = backlog > 1 && world.chance.chance(world.mix.partialReads);
      const count = partial ? 1 + world.chance.below(backlog) : backlog;
      for (let position = place.next; position < place.next + count; position++)
        this.take(position, log[position] as Entry);
      place.next += count;
      const reached = place.waiting.filter(({ position }) => position <= place.next);
      place.waiting = place.waiting.filter(({ position }) => position > place.next);
      for (const { done } of reached) done();
      this.fetch(partition);
    });
  }

  reached(partition: number, position: number, done: () => void): void {
    const place = this.place(partition);
    if (place.next >= position) done();
    else place.waiting.push({ position, done });
  }

  /** What the cluster has at the time of the call, asked of it. */
  end(partition: number, answer: (end: number) => void): void {
    const { world } = this.process;
    world.later(this.cluster.wait + world.latency(), this.process, () => {
      const { length } = this.cluster.partition(partition);
      world.later(world.latency(), this.process, () => answer(length));
    });
  }
}
