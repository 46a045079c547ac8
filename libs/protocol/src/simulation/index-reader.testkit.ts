import type { EvalRunId } from '#lib/ledger';
import type { KafkaCluster } from './kafka-cluster.testkit.js';
import type { Process } from './process.testkit.js';

/** Where evaluations begin, as `eval.index` says, read once and then on: `IndexReader` of the adapter. */
export class IndexReader {
  private next = 0;
  private readonly from = new Map<EvalRunId, number>();

  constructor(
    private readonly process: Process,
    private readonly cluster: KafkaCluster,
  ) {}

  /** Read to the end as of now: the smallest position that was ever given counts. */
  beginningOf(evaluation: EvalRunId, found: (from: number | null) => void): void {
    const { cluster, process, from } = this;
    const { world } = process;
    world.later(cluster.wait + world.latency(), process, () => {
      const end = cluster.indexed.length;
      world.later(world.latency(), process, () => {
        for (; this.next < end; this.next++) {
          const record = cluster.indexed[this.next];
          if (record == null) continue;
          const before = from.get(record.eval);
          if (before === undefined || record.from < before || world.rules.laterBeginningsCount)
            from.set(record.eval, record.from);
        }
        found(from.get(evaluation) ?? null);
      });
    });
  }
}
