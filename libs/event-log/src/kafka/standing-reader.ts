import { setTimeout as sleep } from 'node:timers/promises';
import type { KafkaMessage } from 'kafkajs';
import { LogError } from '../port.js';
import { asLogError, isPassing } from './errors.js';
import { type DirectReader, type Fetched, isOutOfRange, isPermanent } from './direct.js';
import type { KafkaObserver } from './observer.js';
import { type Life, waitAgain } from './retry.js';

interface Place {
  next: number;
  highWatermark: number;
  readonly waiting: { readonly position: number; readonly resolve: () => void }[];
}

/** A fetch waits so long for a first record: read-back takes milliseconds, idling next to nothing, and the end of a process waits for it. */
const WAIT_MS = 1_000;

/** Follows all partitions of a topic from their ends on: one long-polling loop for each node. */
export class StandingReader {
  readonly #places: Place[] = [];
  readonly #loops = new Map<string, Promise<void>>();
  readonly #failing = new Set<string>();

  constructor(
    private readonly reader: DirectReader,
    private readonly topic: string,
    private readonly options: {
      readonly life: Life;
      readonly observer: KafkaObserver;
      readonly fatal: (error: unknown) => void;
      /** Takes records in order; what it returns holds the reader up. */
      readonly take: (partition: number, records: readonly KafkaMessage[]) => Promise<void> | undefined;
    },
  ) {}

  async start(): Promise<void> {
    for (const end of await this.reader.ends(this.topic)) {
      this.#places.push({ next: end, highWatermark: end, waiting: [] });
    }
    this.#look();
  }

  get partitions(): number {
    return this.#places.length;
  }

  /** Everything of the partition below it was taken. */
  next(partition: number): number {
    return this.#places[partition]?.next ?? 0;
  }

  /** Resolves when everything below the position was taken. */
  async reached(partition: number, position: number): Promise<void> {
    const place = this.#places[partition];
    if (place === undefined || place.next >= position) return;
    await this.options.life.bound(new Promise<void>((resolve) => place.waiting.push({ position, resolve })));
  }

  /** Records that the cluster had at the last answer and that were not taken then. */
  lag(): number {
    return this.#places.reduce((sum, { next, highWatermark }) => sum + Math.max(0, highWatermark - next), 0);
  }

  /** Whether every node answered when it was last asked. */
  get well(): boolean {
    return this.#failing.size === 0 && this.#loops.size > 0;
  }

  async stopped(): Promise<void> {
    await Promise.all(this.#loops.values());
  }

  /** Begins a loop for each node that leads a partition and has none. */
  #look(): void {
    for (const node of this.reader.leaders(this.topic).keys()) {
      if (!this.#loops.has(node)) this.#loops.set(node, this.#follow(node));
    }
  }

  async #follow(node: string): Promise<void> {
    const { life, observer, fatal } = this.options;
    for (let failures = 0; !life.over; ) {
      try {
        await this.reader.refresh();
        this.#look();
        const led = this.reader.leaders(this.topic).get(node) ?? [];
        if (led.length === 0) {
          this.#failing.delete(node);
          await life.bound(sleep(1_000));
          continue;
        }
        const froms = led.map((partition) => ({ partition, offset: this.next(partition) }));
        for (const fetched of await life.bound(this.reader.fetch(node, this.topic, froms, WAIT_MS))) {
          await this.#take(fetched);
        }
        failures = 0;
        this.#failing.delete(node);
      } catch (error) {
        if (life.over) return;
        if (isOutOfRange(error)) {
          const cause = { cause: error };
          return fatal(
            new LogError(
              'log_corrupt',
              `${this.topic} ends before what was read of it: the cluster lost records`,
              cause,
            ),
          );
        }
        if (!isPassing(error) && isPermanent(error)) return fatal(asLogError(error, `read ${this.topic}`));
        observer.trouble?.('fetch', error);
        if (failures > 2) this.#failing.add(node);
        await waitAgain(failures++);
        await this.reader.recover(error);
      }
    }
  }

  async #take({ partition, records, next, highWatermark }: Fetched): Promise<void> {
    const place = this.#places[partition];
    if (place === undefined) return;
    place.highWatermark = Math.max(place.highWatermark, highWatermark);
    if (next <= place.next) return;
    // While leaders move, two loops may read one partition.
    const fresh = records.filter(({ offset }) => Number(offset) >= place.next);
    const held = this.options.take(partition, fresh);
    place.next = next;
    for (let at = place.waiting.length - 1; at >= 0; at--) {
      const waiter = place.waiting[at];
      if (waiter === undefined || waiter.position > next) continue;
      place.waiting.splice(at, 1);
      waiter.resolve();
    }
    if (held !== undefined) await this.options.life.bound(held);
  }
}
