import type { KafkaMix } from './mix.testkit.js';
import type { Process } from './process.testkit.js';
import type { Group, World } from './world.testkit.js';

export interface Member {
  readonly process: Process;
  /** The group wants everybody to join again. */
  rejoin(id: string): void;
  joined(id: string, generation: number, partitions: readonly number[]): void;
}

/** A group as its broker sees it: members under names of their own, generations, rebalances that wait for everybody for a while. */
export class ConsumerGroup {
  private readonly members = new Map<string, Member>();
  /** Who has joined again in the rebalance under way; null: there is none. */
  private joining: Set<string> | null = null;
  private generation = 0;
  private names = 0;

  constructor(
    private readonly world: World,
    private readonly mix: KafkaMix,
    private readonly group: Group,
    private readonly partitions: number,
  ) {}

  join(member: Member): string {
    const id = `${member.process.name}.${++this.names}`;
    this.members.set(id, member);
    this.rebalance().add(id);
    this.completeIfAll();
    return id;
  }

  /** Under its name if the group still knows it, else under a new one; nothing where no rebalance is under way any more. */
  joinAgain(id: string, member: Member): string {
    if (!this.members.has(id)) return this.join(member);
    this.joining?.add(id);
    this.completeIfAll();
    return id;
  }

  /** It said so, or was silent for too long. */
  leave(id: string, why: string): void {
    const member = this.members.get(id);
    if (member === undefined) return;
    this.world.trace(() => `GROUP ${this.group} loses ${id}: ${why}`);
    this.members.delete(id);
    this.joining?.delete(id);
    this.callLater(member, id);
    this.rebalance();
    this.completeIfAll();
  }

  /** For no reason that its members know. */
  rebalance(): Set<string> {
    if (this.joining !== null) return this.joining;
    const joining = new Set<string>();
    this.joining = joining;
    for (const [id, member] of this.members) this.callLater(member, id);
    this.world.later(this.mix.rebalanceMs, null, () => {
      if (this.joining === joining) this.complete();
    });
    return joining;
  }

  /** False where the group does not know the member in this generation. */
  commit(id: string, generation: number, partition: number, offset: number): boolean {
    if (!this.members.has(id) || generation !== this.generation) return false;
    this.world.referee.committed(this.group, partition, offset);
    this.world.commit(this.group, partition, offset);
    return true;
  }

  /** A member hears of a rebalance, or of its end, by its next heartbeat. */
  private callLater(member: Member, id: string): void {
    this.world.later(1 + this.world.chance.below(this.mix.heartbeatMs), member.process, () => member.rejoin(id));
  }

  private completeIfAll(): void {
    if (this.joining !== null && [...this.members.keys()].every((id) => this.joining?.has(id))) this.complete();
  }

  private complete(): void {
    const { world, joining } = this;
    this.joining = null;
    for (const [id, member] of this.members) {
      if (joining?.has(id)) continue;
      world.trace(() => `GROUP ${this.group} goes on without ${id}`);
      this.members.delete(id);
      this.callLater(member, id);
    }
    this.generation++;
    const { generation } = this;
    const ids = [...this.members.keys()];
    const turn = world.chance.below(Math.max(1, ids.length));
    for (const [at, id] of ids.entries()) {
      const member = this.members.get(id) as Member;
      const partitions = Array.from({ length: this.partitions }, (_, i) => i).filter(
        (partition) => (partition + turn) % ids.length === at,
      );
      world.trace(() => `GROUP ${this.group} generation ${generation}: ${id} has ${partitions.join() || 'nothing'}`);
      world.later(world.latency(), member.process, () => member.joined(id, generation, partitions));
    }
  }
}
