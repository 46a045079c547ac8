import type { Entry, EvalRunId } from '#lib/ledger';
import { ConsumerGroup } from './consumer-group.testkit.js';
import type { KafkaMix } from './mix.testkit.js';
import { fate } from './random.testkit.js';
import type { Group, World } from './world.testkit.js';

/** What a cluster keeps: the partitions of the ledger, `eval.index`, and the consumer groups. Other topics are the world's. */
export class KafkaCluster {
  readonly ledger: readonly Entry[][];
  /** One partition; null where compaction took a record away. */
  readonly indexed: ({ readonly eval: EvalRunId; readonly from: number } | null)[] = [];
  private downUntil = 0;
  private readonly groups: Readonly<Record<Group, ConsumerGroup>>;

  constructor(
    private readonly world: World,
    readonly mix: KafkaMix,
  ) {
    this.ledger = Array.from({ length: mix.ledgerPartitions }, () => []);
    this.groups = {
      coordinators: new ConsumerGroup(world, mix, 'coordinators', mix.ledgerPartitions),
      projectors: new ConsumerGroup(world, mix, 'projectors', mix.ledgerPartitions),
      executors: new ConsumerGroup(world, mix, 'executors', world.mix.commandPartitions),
    };
  }

  goDown(time: number): void {
    this.world.trace(() => `DOWN for ${time}`);
    this.downUntil = this.world.now + time;
  }

  /** How long a request waits for brokers that answer. */
  get wait(): number {
    return Math.max(0, this.downUntil - this.world.now);
  }

  group(group: Group): ConsumerGroup {
    return this.groups[group];
  }

  partitionOf(evaluation: string): number {
    return fate(evaluation) % this.mix.ledgerPartitions;
  }

  partition(number: number): Entry[] {
    return this.ledger[number] as Entry[];
  }

  /** `eval.index` is compacted: of an evaluation's records the last one stays, the others for a while. */
  index(evaluation: EvalRunId, from: number): void {
    this.world.trace(() => `INDEX ${evaluation.slice(3, 7)} from ${from}`);
    const { indexed } = this;
    if (this.world.chance.chance(this.mix.compacts)) {
      for (const [at, record] of indexed.entries()) if (record?.eval === evaluation) indexed[at] = null;
    }
    indexed.push({ eval: evaluation, from });
  }
}
