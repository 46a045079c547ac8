import { setImmediate } from 'node:timers';
import type { KafkaMessage } from 'kafkajs';
import type { DirectReader } from './direct.js';
import { waitAgain } from './retry.js';

/** Takes a page of records of its key; the scan waits for it. */
export type Sink = (records: readonly KafkaMessage[]) => Promise<void>;

interface Wanted {
  readonly key: string;
  readonly from: number;
  readonly end: number;
  readonly sink: Sink;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A slow scan does not hold up those that come after it. */
const AT_ONCE = 2;

/** The records of a partition from one offset to another, a fetch at a time; the next is under way while one is used. */
export async function* pages(
  reader: DirectReader,
  topic: string,
  partition: number,
  from: number,
  end: number,
): AsyncGenerator<readonly KafkaMessage[]> {
  const fetching = (offset: number) => {
    if (offset >= end) return null;
    const fetched = reader.fetchOne(topic, { partition, offset });
    // Whoever waits for it hears of it; perhaps nobody does.
    fetched.catch(() => {});
    return fetched;
  };
  let offset = from;
  for (let under = fetching(from); under !== null; ) {
    const fetched = await under;
    if (fetched === null) {
      const beginning = (await reader.ends(topic, true))[partition] ?? end;
      if (beginning <= offset) return;
      offset = beginning;
    } else if (fetched.next === offset) {
      // Compaction may leave the end of a partition empty; a new leader may not know yet how far it goes.
      if (fetched.highWatermark >= end) return;
      await waitAgain(3);
    } else {
      offset = fetched.next;
      under = fetching(offset);
      const wanted = fetched.records.filter((record) => Number(record.offset) < end);
      if (wanted.length > 0) yield wanted;
      continue;
    }
    under = fetching(offset);
  }
}

/** Bounded reads of a topic by key. Those of one partition that wait at the same time share one pass over it. */
export class Scans {
  readonly #waiting = new Map<number, Wanted[]>();
  readonly #running = new Map<number, number>();

  constructor(
    private readonly reader: DirectReader,
    private readonly topic: string,
  ) {}

  /** Resolves when the sink took all records of the key in [from, end). */
  read(partition: number, key: string, from: number, end: number, sink: Sink): Promise<void> {
    if (from >= end) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(partition) ?? [];
      this.#waiting.set(partition, waiting);
      waiting.push({ key, from, end, sink, resolve, reject });
      if (waiting.length === 1) setImmediate(() => this.#begin(partition));
    });
  }

  #begin(partition: number): void {
    const running = this.#running.get(partition) ?? 0;
    const wanted = this.#waiting.get(partition) ?? [];
    if (running >= AT_ONCE || wanted.length === 0) return;
    this.#waiting.set(partition, []);
    this.#running.set(partition, running + 1);
    void this.#pass(partition, wanted).finally(() => {
      this.#running.set(partition, (this.#running.get(partition) ?? 1) - 1);
      this.#begin(partition);
    });
  }

  async #pass(partition: number, wanted: readonly Wanted[]): Promise<void> {
    const from = Math.min(...wanted.map((one) => one.from));
    const end = Math.max(...wanted.map((one) => one.end));
    const byKey = new Map<string, Wanted[]>();
    for (const one of wanted) byKey.set(one.key, [...(byKey.get(one.key) ?? []), one]);
    const failed = new Set<Wanted>();
    try {
      for await (const page of pages(this.reader, this.topic, partition, from, end)) {
        await Promise.all(
          [...shared(page, byKey)].map(async ([one, records]) => {
            if (failed.has(one)) return;
            try {
              await one.sink(records);
            } catch (error) {
              failed.add(one);
              one.reject(error);
            }
          }),
        );
      }
      for (const one of wanted) one.resolve();
    } catch (error) {
      for (const one of wanted) one.reject(error);
    }
  }
}

function shared(
  page: readonly KafkaMessage[],
  byKey: ReadonlyMap<string, readonly Wanted[]>,
): Map<Wanted, KafkaMessage[]> {
  const parts = new Map<Wanted, KafkaMessage[]>();
  for (const record of page) {
    const offset = Number(record.offset);
    for (const one of byKey.get(String(record.key)) ?? []) {
      if (offset < one.from || offset >= one.end) continue;
      const part = parts.get(one) ?? [];
      parts.set(one, part);
      part.push(record);
    }
  }
  return parts;
}
