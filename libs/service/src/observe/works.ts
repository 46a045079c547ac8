import type { TopicRecord } from '#lib/event-log';
import { type Entry, isChildRunId, parseChildRunId } from '#lib/ledger';

interface Work<V> {
  readonly group: string;
  readonly partition: number;
  readonly value: V;
}

/** What a process works on, by name: a ledger that it writes, or a projection. Forgets what ended, or went to another process. */
export class Works<V> {
  private readonly under = new Map<string, Work<V>>();

  constructor(private readonly ended: (value: V, by: Entry | null) => void = () => {}) {}

  get(name: string): V | undefined {
    return this.under.get(name)?.value;
  }

  begin(name: string, { group, partition, value }: Work<V>): void {
    this.under.set(name, { group, partition, value });
  }

  end(name: string, by: Entry | null = null): void {
    const work = this.under.get(name);
    if (work === undefined) return;
    this.under.delete(name);
    this.ended(work.value, by);
  }

  /** A sealed run is over, and so is all of a closed evaluation but the projection of a complete one. */
  read(entry: Entry): void {
    if (entry.type === 'run_sealed') this.end(entry.ledger, entry);
    if (entry.type !== 'eval_closed') return;
    this.end(entry.eval, entry);
    if (entry.body.outcome !== 'complete') this.end(projectionOf(entry.eval), entry);
    for (const name of this.under.keys()) {
      if (isChildRunId(name) && parseChildRunId(name).eval === entry.eval) this.end(name, entry);
    }
  }

  lost(group: string, partitions: readonly number[]): void {
    for (const [name, work] of this.under) {
      if (work.group === group && partitions.includes(work.partition)) this.end(name);
    }
  }

  endAll(): void {
    for (const name of this.under.keys()) this.end(name);
  }
}

/** What a service works on because of a record; `null` where it is nothing that lasts. */
export function workOf(group: string, { topic, key, value }: TopicRecord): string | null {
  if (group === 'executor') return isChildRunId(key) ? key : null;
  if (topic !== 'eval.accepted' || (value as { kind?: unknown } | null)?.kind !== 'eval') return null;
  return group === 'projector' ? projectionOf(key) : key;
}

/** Who is at work when an entry is written. */
export function writerOf(entry: Entry): string {
  return entry.type === 'eval_report' ? projectionOf(entry.eval) : entry.ledger;
}

export function projectionOf(evaluation: string): string {
  return `report of ${evaluation}`;
}
