import type { Accepted } from '#lib/evaluation';
import type { ChildRunId, Entry, EvalRunId, LedgerRef } from '#lib/ledger';
import { KafkaCluster } from './kafka-cluster.testkit.js';
import { LeaseStore } from './leases.testkit.js';
import type { Mix } from './mix.testkit.js';
import type { Process } from './process.testkit.js';
import { Chance } from './random.testkit.js';
import { Referee } from './referee.testkit.js';
import type { Rules } from './rules.testkit.js';

/** Where the simulated clocks start, milliseconds since the epoch. */
export const EPOCH = Date.UTC(2026, 11, 1);

export interface Command {
  readonly eval: EvalRunId;
  readonly child: ChildRunId;
}

/** `end`: how long the log was when the intake accepted, a hint. */
export interface AcceptedRecord {
  readonly accepted: Accepted;
  readonly end: number;
}

export type Group = 'coordinators' | 'projectors' | 'executors';

interface Happening {
  readonly at: number;
  readonly order: number;
  readonly process: Process | null;
  readonly incarnation: number;
  readonly run: () => void;
}

/**
 * One cluster: the ledger partition, the topics beside it, the leases, the assignments of partitions, time and chance.
 * Everything happens in the order of one queue, and all chance comes from one seed.
 */
export class World {
  now = 0;
  readonly log: Entry[] = [];
  /** By partition. */
  readonly accepted: AcceptedRecord[][];
  readonly commands: Command[][];
  readonly reports: { readonly eval: EvalRunId; readonly ref: LedgerRef; readonly body: string }[] = [];
  readonly deadLetters: string[] = [];
  readonly committed = new Map<string, number>();
  readonly leaseStore = new LeaseStore(this);
  readonly processes: Process[] = [];
  /** Sends that the cluster has not settled yet. */
  inFlight = 0;
  happened = 0;
  readonly lines: string[] = [];
  readonly referee: Referee;
  /** Null where there is one log with a total order. */
  readonly kafka: KafkaCluster | null;
  private readonly queue: Happening[] = [];
  private order = 0;

  constructor(
    readonly chance: Chance,
    readonly mix: Mix,
    readonly rules: Rules,
    readonly tracing: boolean,
  ) {
    this.referee = new Referee(this);
    this.commands = Array.from({ length: mix.commandPartitions }, () => []);
    this.accepted = Array.from({ length: mix.kafka?.ledgerPartitions ?? 1 }, () => []);
    this.kafka = mix.kafka === null ? null : new KafkaCluster(this, mix.kafka);
  }

  trace(line: () => string): void {
    if (this.tracing) this.lines.push(`${String(this.now).padStart(6)} ${line()}`);
  }

  /** Runs later; for a process only if it still lives in the same incarnation, and after its pause if it is paused. */
  later(delay: number, process: Process | null, run: () => void): void {
    const item = {
      at: this.now + Math.max(0, delay),
      order: this.order++,
      process,
      incarnation: process?.incarnation ?? 0,
      run,
    };
    const { queue } = this;
    let i = queue.length;
    queue.push(item);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = queue[parent] as Happening;
      if (!before(item, above)) break;
      queue[i] = above;
      i = parent;
    }
    queue[i] = item;
  }

  /** The next thing happens; false when nothing is left. */
  next(): boolean {
    const item = this.pop();
    if (item === undefined) return false;
    this.happened++;
    this.now = item.at;
    const { process } = item;
    if (process !== null) {
      if (!process.alive || process.incarnation !== item.incarnation) return true;
      if (process.paused) {
        process.stash.push(item.run);
        return true;
      }
    }
    item.run();
    return true;
  }

  private pop(): Happening | undefined {
    const { queue } = this;
    const top = queue[0];
    const last = queue.pop();
    if (top === undefined || last === undefined || queue.length === 0) return top;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= queue.length) break;
      if (child + 1 < queue.length && before(queue[child + 1] as Happening, queue[child] as Happening)) child++;
      if (!before(queue[child] as Happening, last)) break;
      queue[i] = queue[child] as Happening;
      i = child;
    }
    queue[i] = last;
    return top;
  }

  latency(): number {
    return 1 + this.chance.below(this.mix.latency);
  }

  /** An entry comes to stand in the log. */
  land(entry: Entry): void {
    const { kafka } = this;
    this.log.push(entry);
    kafka?.partition(kafka.partitionOf(entry.eval)).push(entry);
    this.referee.landed(entry);
    for (const process of this.processes) process.log.notice();
  }

  /** What a group reads. */
  topic(group: Group, partition: number): readonly unknown[] {
    return (group === 'executors' ? this.commands : this.accepted)[partition] ?? [];
  }

  partitionOf(evaluation: string): number {
    return this.kafka?.partitionOf(evaluation) ?? 0;
  }

  command(partition: number, command: Command): void {
    this.commands[partition]?.push(command);
    this.tell((group) => group === 'executors');
  }

  accept(record: AcceptedRecord): void {
    this.accepted[this.partitionOf(record.accepted.eval_run_id)]?.push(record);
    this.tell((group) => group !== 'executors');
  }

  private tell(concerned: (group: Group) => boolean): void {
    for (const process of this.processes) if (process.alive && concerned(process.group)) process.consumer.consume();
  }

  /** Commits an offset of a group: never back. */
  commit(group: Group, partition: number, offset: number): void {
    const name = `${group}/${partition}`;
    this.committed.set(name, Math.max(offset, this.committed.get(name) ?? 0));
  }

  committedOf(group: Group, partition: number): number {
    return this.committed.get(`${group}/${partition}`) ?? 0;
  }

  get faulty(): boolean {
    return this.now < this.mix.faultsUntil;
  }
}

function before(a: Happening, b: Happening): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
