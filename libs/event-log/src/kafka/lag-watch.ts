import type { Ends } from './ends.js';
import type { Life } from './retry.js';
import type { TopicConsumer } from './topic-consumer.js';

const LOOK_MS = 2_000;
/** After so long without an answer nobody knows whether anything is delivered. */
const BLIND_MS = 15_000;

/** Looks at where the consumers' topics end: a consumer that is given nothing cannot tell that there is something. */
export class LagWatch {
  #lookedAt = performance.now();
  #looking = false;

  constructor(
    private readonly ends: Ends,
    private readonly consumers: ReadonlySet<TopicConsumer>,
    life: Life,
  ) {
    const timer = setInterval(() => void this.#look(), LOOK_MS).unref();
    life.onEnd(() => clearInterval(timer));
  }

  /** Whether the cluster says where the topics end. */
  get well(): boolean {
    return performance.now() - this.#lookedAt < BLIND_MS;
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const names = new Set([...this.consumers].map(({ consumed }) => consumed.topicName));
      for (const name of names) {
        const ends = await this.ends.all(name);
        const now = performance.now();
        for (const consumer of this.consumers) if (consumer.consumed.topicName === name) consumer.saw(ends, now);
      }
      this.#lookedAt = performance.now();
    } catch {
      // It shows in `well`.
    } finally {
      this.#looking = false;
    }
  }
}
