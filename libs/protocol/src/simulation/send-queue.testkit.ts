import type { KafkaCluster } from './kafka-cluster.testkit.js';
import type { Process } from './process.testkit.js';

export interface Outgoing {
  /** Topic and partition. */
  readonly place: string;
  readonly land: () => void;
  readonly done: () => void;
}

/**
 * A producer as `SendQueue` has it: one send at a time, with what was queued meanwhile. What goes to one partition lands together. A partition whose
 * acknowledgement is lost is sent again, and may then have all of it twice; what comes later waits for it.
 */
export class SendQueue {
  private queue: Outgoing[] = [];
  private sending = false;

  constructor(
    private readonly process: Process,
    private readonly cluster: KafkaCluster,
  ) {}

  reset(): void {
    this.queue = [];
    this.sending = false;
  }

  send(outgoing: Outgoing): void {
    this.queue.push(outgoing);
    if (this.sending) return;
    this.sending = true;
    // What is queued in the same turn goes together.
    this.process.world.later(0, this.process, () => this.next());
  }

  private next(): void {
    const batch = this.take();
    if (batch.size === 0) this.sending = false;
    else this.deliver(batch);
  }

  private take(): Map<string, Outgoing[]> {
    const taken = new Map<string, Outgoing[]>();
    this.queue = this.queue.filter((outgoing) => {
      const records = taken.get(outgoing.place) ?? [];
      if (records.length >= this.cluster.mix.batch) return true;
      taken.set(outgoing.place, [...records, outgoing]);
      return false;
    });
    return taken;
  }

  private deliver(batch: ReadonlyMap<string, readonly Outgoing[]>): void {
    const { world } = this.process;
    const { chance, mix } = world;
    let slowest = 0;
    const lost = new Map<string, readonly Outgoing[]>();
    for (const [place, records] of batch) {
      const late = world.faulty && chance.chance(mix.late);
      const arrives = this.cluster.wait + (late ? chance.below(3 * mix.leaseMs) : world.latency());
      slowest = Math.max(slowest, arrives);
      const isLost = world.faulty && chance.chance(mix.twice);
      // Before it arrived: nothing of it is there. After that: a producer that lost count writes a copy, else the cluster knows it.
      if (!isLost || chance.chance(0.7)) this.arrive(arrives, records);
      else lost.set(place, records);
      if (isLost && chance.chance(0.6)) lost.set(place, records);
    }
    world.later(slowest + world.latency(), this.process, () => {
      for (const [place, records] of batch) if (!lost.has(place)) for (const { done } of records) done();
      if (lost.size > 0) this.deliver(lost);
      else this.next();
    });
  }

  private arrive(delay: number, records: readonly Outgoing[]): void {
    const { process } = this;
    const { world, incarnation } = process;
    world.inFlight++;
    world.later(delay, null, () => {
      world.inFlight--;
      if (process.incarnation !== incarnation && world.chance.chance(world.mix.lostAtCrash)) return;
      for (const { land } of records) land();
    });
  }
}
