import type { JsonValue } from '#lib/ledger';
import { eventIdOf, SchemaError, type WireTopic } from '#lib/schemas';
import type { Consumer, Topic, TopicHandler, TopicRecord, Topics } from '../port.js';
import type { DeadLetters } from './dead-letters.js';
import type { Ends } from './ends.js';
import { LagWatch } from './lag-watch.js';
import { topicName } from './names.js';
import { pages } from './scans.js';
import type { Sender } from './sender.js';
import { type ConsumerParts, TopicConsumer } from './topic-consumer.js';
import { rawOf, recordOf } from './topic-record.js';

export interface TopicsParts extends ConsumerParts {
  readonly prefix: string;
  readonly ends: Ends;
  readonly sender: Sender;
  readonly letters: DeadLetters;
}

/** The topics beside the ledger. */
export class KafkaTopics implements Topics {
  readonly consumers = new Set<TopicConsumer>();
  /** Work for all, which nobody waits for. */
  readonly guards = new Set<TopicConsumer>();

  readonly #watch: LagWatch;

  constructor(private readonly parts: TopicsParts) {
    this.#watch = new LagWatch(parts.ends, this.consumers, parts.life);
  }

  /** Whether every consumer is known to be given what stands in its partitions. */
  get ready(): boolean {
    return this.#watch.well && [...this.consumers].every((consumer) => consumer.ready);
  }

  async publish(topic: Topic, key: string, value: JsonValue, trace?: string): Promise<number> {
    this.parts.life.assert();
    const id = eventIdOf(topic, value, () => crypto.randomUUID());
    return this.parts.sender.send(topic, key, value, { id, subject: key, ...(trace === undefined ? {} : { trace }) });
  }

  refuse(record: TopicRecord, code: string, reason: string): Promise<void> {
    this.parts.life.assert();
    return this.parts.letters.refuse(record, code, reason);
  }

  consume(topic: Topic, group: string, handler: TopicHandler): Promise<Consumer> {
    return this.#join(topic, group, handler, this.consumers);
  }

  /** Joins those that look through the topics that nobody consumes: what cannot be decoded on them goes to the dead letters too, once. */
  async guard(): Promise<void> {
    const guarded = (['eval.ledger', 'eval.attachment', 'eval.index', 'eval.contract'] as const).map(async (topic) => {
      const handler: TopicHandler = {
        record: ({ position, partition }) => {
          joined.then((consumer) => consumer.commit(position + 1, partition)).catch(() => {});
        },
      };
      const joined = this.#join(topic, `guard-${topic}`, handler, this.guards);
      await joined;
    });
    await Promise.all(guarded);
  }

  async #join(topic: WireTopic, group: string, handler: TopicHandler, members: Set<TopicConsumer>): Promise<Consumer> {
    this.parts.life.assert();
    const { prefix } = this.parts;
    const names = { topic, topicName: topicName(prefix, topic), group: `${prefix}truss-${group}` };
    const consumer = new TopicConsumer(this.parts, names, handler);
    members.add(consumer);
    try {
      await consumer.start();
    } catch (error) {
      members.delete(consumer);
      throw error;
    }
    return {
      commit: (position, partition) => consumer.commit(position, partition),
      resume: (partition) => consumer.resume(partition),
      stop: async () => {
        await consumer.stop();
        members.delete(consumer);
      },
    };
  }

  async *list(topic: Topic, after?: ReadonlyMap<number, number>): AsyncGenerator<TopicRecord> {
    const { life, reader, ends, prefix, decoding, observer } = this.parts;
    life.assert();
    const name = topicName(prefix, topic);
    for (const [partition, end] of (await ends.all(name)).entries()) {
      for await (const page of pages(reader, name, partition, (after?.get(partition) ?? -1) + 1, end)) {
        for (const message of page) {
          const raw = rawOf(topic, partition, message);
          try {
            yield recordOf(raw, await decoding.value(topic, message.value));
          } catch (error) {
            if (!(error instanceof SchemaError)) throw error;
            observer.trouble?.('decode', error);
          }
        }
      }
    }
  }
}
