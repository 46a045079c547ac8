import type { Cluster, Consumer, Kafka, KafkaMessage } from 'kafkajs';
import { asLogError, isPassing, rootOf } from './errors.js';
import type { Doing, KafkaObserver } from './observer.js';
import { type Life, waitAgain } from './retry.js';

export interface Fetched {
  readonly partition: number;
  /** From the asked offset on, in order, without the cluster's own marks. */
  readonly records: readonly KafkaMessage[];
  /** The offset to ask for next. */
  readonly next: number;
  readonly highWatermark: number;
}

interface FetchResponse {
  readonly responses: readonly {
    readonly partitions: readonly {
      readonly partition: number;
      readonly highWatermark: string;
      readonly messages: readonly (KafkaMessage & { readonly isControlRecord: boolean })[];
    }[];
  }[];
}

export interface From {
  readonly partition: number;
  readonly offset: number;
}

/**
 * Reads given partitions from given offsets, with no group: nothing to join, to be thrown out of, or to clean up. kafkajs consumers cannot do that,
 * but they hand their connection to the cluster to whoever assigns partitions. Reads uncommitted: nobody's open transaction may hold a ledger up.
 */
export class DirectReader {
  #cluster: Cluster | null = null;
  readonly #partitions = new Map<string, number>();
  readonly #consumer: Consumer;

  constructor(
    kafka: Kafka,
    private readonly life: Life,
    private readonly observer: KafkaObserver,
  ) {
    this.#consumer = kafka.consumer({
      groupId: 'none',
      allowAutoTopicCreation: false,
      readUncommitted: true,
      metadataMaxAge: 60_000,
      partitionAssigners: [
        ({ cluster }) => {
          this.#cluster = cluster;
          return {
            name: 'none',
            version: 0,
            assign: async () => [],
            protocol: () => ({ name: 'none', metadata: Buffer.of() }),
          };
        },
      ],
    });
  }

  get #connected(): Cluster {
    if (this.#cluster === null) throw new Error('kafkajs did not hand out its cluster');
    return this.#cluster;
  }

  async open(topics: readonly string[]): Promise<void> {
    try {
      await this.#consumer.connect();
      await this.#connected.addMultipleTargetTopics([...topics]);
    } catch (error) {
      throw asLogError(error, 'read its topics');
    }
  }

  async close(): Promise<void> {
    await this.#consumer.disconnect();
  }

  /** Number of partitions of a topic that it was opened for, as when it was first asked: the keys of a process must not move while it runs. */
  partitions(topic: string): number {
    const known = this.#partitions.get(topic);
    if (known !== undefined) return known;
    const found = this.#connected.findTopicPartitionMetadata(topic).length;
    if (found > 0) this.#partitions.set(topic, found);
    return found;
  }

  /** The nodes that lead partitions of the topic, by id, with what they lead. */
  leaders(topic: string): ReadonlyMap<string, readonly number[]> {
    const partitions = Array.from({ length: this.partitions(topic) }, (_, partition) => partition);
    return new Map(Object.entries(this.#connected.findLeaderForPartitions(topic, partitions)));
  }

  /** Looks for leaders again when it is time to. */
  async refresh(): Promise<void> {
    await this.#connected.refreshMetadataIfNecessary();
  }

  /**
   * One fetch of partitions that one node leads; it waits so long for a first record.
   * @throws what kafkajs throws
   */
  async fetch(nodeId: string, topic: string, froms: readonly From[], waitMs: number): Promise<Fetched[]> {
    const broker = await this.#connected.findBroker({ nodeId });
    const { responses } = (await broker.fetch({
      maxWaitTime: waitMs,
      minBytes: 1,
      maxBytes: MAX_BYTES,
      isolationLevel: READ_UNCOMMITTED,
      topics: [
        {
          topic,
          partitions: froms.map(({ partition, offset }) => ({
            partition,
            fetchOffset: String(offset),
            maxBytes: MAX_PARTITION_BYTES,
          })),
        },
      ],
    })) as FetchResponse;
    const asked = new Map(froms.map(({ partition, offset }) => [partition, offset]));
    return responses.flatMap(({ partitions }) =>
      partitions.map(({ partition, highWatermark, messages }) => {
        const offset = asked.get(partition) ?? 0;
        const last = messages.at(-1);
        return {
          partition,
          // A batch is stored and sent as one: it may begin before what was asked for.
          records: messages.filter((message) => !message.isControlRecord && Number(message.offset) >= offset),
          next: last === undefined ? offset : Math.max(offset, Number(last.offset) + 1),
          highWatermark: Number(highWatermark),
        };
      }),
    );
  }

  /** One fetch of one partition, from its leader, again until it succeeds. `null`: the offset is not in the log. */
  async fetchOne(topic: string, { partition, offset }: From): Promise<Fetched | null> {
    return this.again('fetch', async () => {
      await this.refresh();
      for (const [node, led] of this.leaders(topic)) {
        if (!led.includes(partition)) continue;
        try {
          const [fetched] = await this.fetch(node, topic, [{ partition, offset }], SHORT_WAIT_MS);
          if (fetched !== undefined) return fetched;
        } catch (error) {
          if (isOutOfRange(error)) return null;
          throw error;
        }
      }
      throw new Error(`partition ${partition} of ${topic} has no leader`);
    });
  }

  /** The end (or the beginning) of each partition as of now, in their order. */
  async ends(topic: string, fromBeginning = false): Promise<readonly number[]> {
    return this.again('ends', async () => {
      await this.refresh();
      const count = this.partitions(topic);
      const partitions = Array.from({ length: count }, (_, partition) => ({ partition }));
      const [found] = await this.#connected.fetchTopicsOffset([{ topic, partitions, fromBeginning }]);
      const ends = new Map(found?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
      if (count === 0 || ends.size !== count) throw new Error(`not all partitions of ${topic} said where they end`);
      return partitions.map(({ partition }) => ends.get(partition) as number);
    });
  }

  /** Makes the call again until it succeeds. @throws LogError for what does not pass; `log_closed` */
  async again<T>(doing: Doing, call: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      this.life.assert();
      try {
        return await this.life.bound(call());
      } catch (error) {
        this.life.assert();
        if (isPermanent(error)) throw asLogError(error, 'read its topics');
        this.observer.trouble?.(doing, error);
        await waitAgain(attempt);
        await this.recover(error);
      }
    }
  }

  /** After an error: reconnects and looks for leaders, as far as that works now. */
  async recover(error: unknown): Promise<void> {
    const { name, host, port } = rootOf(error) as Error & { readonly host?: string; readonly port?: number };
    try {
      if (name === 'KafkaJSConnectionClosedError' && host !== undefined && port !== undefined) {
        this.#connected.removeBroker({ host, port });
      }
      if (this.life.over) return;
      if (!this.#connected.isConnected()) await this.#connected.connect();
      await this.#connected.refreshMetadata();
    } catch {
      // The call that is made again says what is wrong.
    }
  }
}

const READ_UNCOMMITTED = 0;
const MAX_BYTES = 10 * 1024 * 1024;
const MAX_PARTITION_BYTES = 1024 * 1024;
/** For a fetch of records that are known to be there. */
const SHORT_WAIT_MS = 100;

export function isOutOfRange(error: unknown): boolean {
  return rootOf(error).name === 'KafkaJSOffsetOutOfRange';
}

/** Refused by right or by name: a new attempt says the same. */
export function isPermanent(error: unknown): boolean {
  const { name, type = '' } = rootOf(error);
  return !isPassing(error) && (type.endsWith('AUTHORIZATION_FAILED') || name === 'KafkaJSSASLAuthenticationError');
}
