import { setImmediate } from 'node:timers';
import { canonicalJson, type JsonValue } from '#lib/ledger';
import type { GroupCommit } from './group-commit.js';
import { tell } from './listening.js';
import { LogError, type Topic, type TopicRecord, type Topics } from './port.js';
import { PAGE, type Store } from './store.js';

interface Reader {
  readonly topic: Topic;
  /** Position of the last record delivered. */
  last: number;
  readonly handler: (record: TopicRecord) => void;
}

/** What a record looks like on `eval.dead-letter`. */
function letterOf({ topic, position, value }: TopicRecord, code: string, reason: string): JsonValue {
  return { topic, position, value, code, reason };
}

/** Consumers of this process. They read from the store, so one that lags costs no memory. */
export class Readers {
  readonly #readers = new Set<Reader>();
  constructor(private readonly store: Store) {}

  add(reader: Reader): void {
    this.#readers.add(reader);
  }

  remove(reader: Reader): void {
    this.#readers.delete(reader);
  }

  clear(): void {
    this.#readers.clear();
  }

  deliver(topics?: ReadonlySet<Topic>): void {
    for (const reader of this.#readers) {
      if (topics !== undefined && !topics.has(reader.topic)) continue;
      for (let page = this.#page(reader); page.length > 0; page = this.#page(reader)) {
        for (const record of page) {
          if (!this.#readers.has(reader)) break;
          reader.last = record.position;
          tell(() => reader.handler(record));
        }
      }
    }
  }

  #page(reader: Reader): readonly TopicRecord[] {
    return this.#readers.has(reader) ? this.store.topicPage(reader.topic, reader.last, PAGE) : [];
  }
}

export function createTopics(store: Store, commits: GroupCommit, readers: Readers): Topics {
  const refuse = (what: string): void => {
    throw new LogError('log_read_only', `this process does not drive the database: only the one that does may ${what}`);
  };
  async function publish(topic: Topic, key: string, value: JsonValue): Promise<number> {
    if (store.writes === 'inbox' && topic !== 'eval.requested') refuse(`publish to ${topic}`);
    const json = canonicalJson(value);
    return new Promise((resolve, reject) => commits.add({ kind: 'publish', topic, key, json, resolve, reject }));
  }
  return {
    publish,
    async refuse(record, code, reason) {
      await publish('eval.dead-letter', record.key, letterOf(record, code, reason));
    },
    async consume(topic, group, handler) {
      const reader: Reader = {
        topic,
        last: store.offset(topic, group) - 1,
        handler: (record) => handler.record(record),
      };
      readers.add(reader);
      // In a later turn, so that the handler may use what this returns.
      setImmediate(() => readers.deliver(new Set([topic])));
      return {
        async commit(position) {
          if (store.writes === 'inbox') refuse('commit a position');
          return new Promise((resolve, reject) =>
            commits.add({ kind: 'commit', topic, group, position, resolve, reject }),
          );
        },
        stop: async () => readers.remove(reader),
      };
    },
    async *list(topic, after) {
      const end = store.topicEnd(topic);
      for (let last = after?.get(0) ?? 0; last < end; ) {
        const page = store.topicPage(topic, last, PAGE);
        if (page.length === 0) return;
        for (const record of page) {
          if (record.position > end) return;
          last = record.position;
          yield record;
        }
      }
    },
  };
}
