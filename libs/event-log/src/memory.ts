import type { EvalRunId, KeyRing } from '#lib/ledger';
import { setImmediate } from 'node:timers';
import type { Leases, LogRecord, Topic, TopicRecord } from './port.js';
import { tell } from './listening.js';
import type { Store, Writes } from './store.js';
import { createStoreLog, type OpenLog } from './store-log.js';

/** What several handles share, as several processes share a database. */
export class MemoryStore {
  readonly #records: { readonly eval: EvalRunId; readonly position: number; readonly record: LogRecord['record'] }[] =
    [];
  readonly #byEvaluation = new Map<EvalRunId, LogRecord[]>();
  readonly #attachments = new Map<string, Uint8Array>();
  readonly #topics = new Map<Topic, TopicRecord[]>();
  readonly #offsets = new Map<Topic, Map<string, number>>();
  readonly #watchers = new Set<() => void>();
  #published = 0;
  #announced = false;

  /** A handle that may write everything. */
  open(): Store {
    return {
      writes: 'all',
      transaction: (write) => {
        write(this.#writes);
        this.#announce();
      },
      sync: () => null,
      end: (evaluation) => this.#byEvaluation.get(evaluation)?.at(-1)?.position ?? 0,
      head: () => this.#records.length,
      page: (evaluation, after, limit) => pageOf(this.#byEvaluation.get(evaluation) ?? [], after, limit),
      range: (from, to) => this.#records.slice(from - 1, to),
      evaluations: (after, limit) => {
        const firsts = [...this.#byEvaluation].map(([id, records]) => ({
          eval: id,
          position: records[0]?.position ?? 0,
        }));
        return pageOf(firsts, after, limit);
      },
      attachment: (sha256) => this.#attachments.get(sha256),
      topicEnd: (topic) => this.#topics.get(topic)?.at(-1)?.position ?? 0,
      topicPage: (topic, after, limit) => pageOf(this.#topics.get(topic) ?? [], after, limit),
      offset: (topic, group) => this.#offsets.get(topic)?.get(group) ?? 0,
      watch: (changed) => {
        this.#watchers.add(changed);
        return () => this.#watchers.delete(changed);
      },
      close: () => {},
    };
  }

  readonly #writes: Writes = {
    entry: (evaluation, record) => {
      const position = this.#records.length + 1;
      this.#records.push({ eval: evaluation, position, record });
      const records = this.#byEvaluation.get(evaluation);
      if (records === undefined) this.#byEvaluation.set(evaluation, [{ position, record }]);
      else records.push({ position, record });
      return position;
    },
    attachment: (sha256, bytes) => {
      this.#attachments.set(sha256, Uint8Array.from(bytes));
    },
    publish: (topic, key, json) => {
      const record = { topic, partition: 0, position: ++this.#published, key, value: JSON.parse(json) };
      const records = this.#topics.get(topic);
      if (records === undefined) this.#topics.set(topic, [record]);
      else records.push(record);
      return record.position;
    },
    commit: (topic, group, position) => {
      const offsets = this.#offsets.get(topic) ?? new Map<string, number>();
      offsets.set(group, Math.max(position, offsets.get(group) ?? 0));
      this.#offsets.set(topic, offsets);
      if (topic !== 'eval.child-run.commands') return;
      const finished = Math.min(...offsets.values());
      this.#topics.set(
        topic,
        (this.#topics.get(topic) ?? []).filter((record) => record.position >= finished),
      );
    },
  };

  #announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    setImmediate(() => {
      this.#announced = false;
      for (const watcher of this.#watchers) tell(watcher);
    });
  }
}

function pageOf<T extends { readonly position: number }>(
  sorted: readonly T[],
  after: number,
  limit: number,
): readonly T[] {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as T).position <= after) low = middle + 1;
    else high = middle;
  }
  return sorted.slice(low, low + limit);
}

export interface MemoryLogOptions {
  readonly keys: KeyRing;
  /** Give several logs one store, and they are as processes over one log. */
  readonly store?: MemoryStore;
}

/** A log that ends with the process: for tests and simulation. */
export function createMemoryLog({ keys, store = new MemoryStore() }: MemoryLogOptions): OpenLog {
  return createStoreLog(store.open(), keys);
}

/** Leases within one process. @param now milliseconds on any clock that does not go back */
export function createMemoryLeases(now: () => number): Leases {
  const held = new Map<string, { readonly holder: string; readonly until: number }>();
  return {
    async hold(name, holder, ttlMs) {
      const lease = held.get(name);
      if (lease !== undefined && lease.holder !== holder && lease.until > now()) return false;
      held.set(name, { holder, until: now() + ttlMs });
      return true;
    },
    async release(name, holder) {
      if (held.get(name)?.holder === holder) held.delete(name);
    },
  };
}
