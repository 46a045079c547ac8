import type { LogRecord } from '#lib/event-log';

/** So many records wait for a reader; then whoever brings more waits too. */
const CAPACITY = 1024;

/** Records that one side brings as a scan meets them, and another reads at its own pace. */
export class Feed implements AsyncIterable<LogRecord> {
  #queue: LogRecord[] = [];
  #ended = false;
  #dropped = false;
  #wakeReader: (() => void) | null = null;
  #wakeWriter: (() => void) | null = null;

  /** `null` where there is room, so that a scan need not wait for a turn of its own. */
  push(record: LogRecord): Promise<void> | null {
    if (this.#dropped) return null;
    this.#queue.push(record);
    this.#wakeReader?.();
    if (this.#queue.length < CAPACITY) return null;
    return new Promise((resolve) => {
      this.#wakeWriter = resolve;
    });
  }

  end(): void {
    this.#ended = true;
    this.#wakeReader?.();
  }

  /** The reader wants no more: what comes is let go. */
  drop(): void {
    this.#dropped = true;
    this.#queue = [];
    this.#wakeWriter?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<LogRecord> {
    try {
      while (true) {
        const records = this.#queue;
        this.#queue = [];
        this.#wakeWriter?.();
        this.#wakeWriter = null;
        yield* records;
        if (this.#queue.length > 0) continue;
        if (this.#ended) return;
        await new Promise<void>((resolve) => {
          this.#wakeReader = resolve;
        });
        this.#wakeReader = null;
      }
    } finally {
      this.drop();
    }
  }
}
