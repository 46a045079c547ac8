import type { DirectReader } from './direct.js';

interface Asking {
  readonly now: Promise<readonly number[]>;
  next: Promise<readonly number[]> | null;
}

/** Where partitions end as of now; callers at the same time share one request. */
export class Ends {
  readonly #asking = new Map<string, Asking>();

  constructor(private readonly reader: DirectReader) {}

  async of(topic: string, partition: number): Promise<number> {
    return (await this.all(topic))[partition] ?? 0;
  }

  all(topic: string): Promise<readonly number[]> {
    const asking = this.#asking.get(topic);
    // A request that is under way may have been answered before this call: the next one is shared.
    if (asking !== undefined) {
      asking.next ??= asking.now.then(
        () => this.#ask(topic),
        () => this.#ask(topic),
      );
      return asking.next;
    }
    return this.#ask(topic);
  }

  #ask(topic: string): Promise<readonly number[]> {
    const answer = this.reader.ends(topic);
    const asking: Asking = { now: answer, next: null };
    this.#asking.set(topic, asking);
    const settled = (): void => {
      if (asking.next === null && this.#asking.get(topic) === asking) this.#asking.delete(topic);
    };
    answer.then(settled, settled);
    return answer;
  }
}
