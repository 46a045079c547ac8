import { setTimeout as sleep } from 'node:timers/promises';
import { closed } from '../group-commit.js';

const FIRST_MS = 20;
const LONGEST_MS = 1_000;

/** The n-th wait (from 0) before a call is made again: grows to a second, with jitter. */
export function waitAgain(attempt: number): Promise<void> {
  const most = Math.min(FIRST_MS * 2 ** Math.min(attempt, 10), LONGEST_MS);
  return sleep(most / 2 + (Math.random() * most) / 2);
}

/** Until the log is closed. */
export class Life {
  readonly #endings = new Set<() => void>();
  #over = false;

  get over(): boolean {
    return this.#over;
  }

  /** @throws LogError `log_closed` */
  assert(): void {
    if (this.#over) throw closed();
  }

  /** Calls back once when the log is closed; what it returns takes that back. */
  onEnd(callback: () => void): () => void {
    this.#endings.add(callback);
    return () => this.#endings.delete(callback);
  }

  end(): void {
    this.#over = true;
    for (const ending of this.#endings) ending();
    this.#endings.clear();
  }

  /** The same promise, which rejects with `log_closed` when the log is closed before it settles. */
  bound<T>(promise: Promise<T>): Promise<T> {
    if (this.#over) return Promise.reject(closed());
    return new Promise((resolve, reject) => {
      const done = this.onEnd(() => reject(closed()));
      promise.then(resolve, reject).finally(done);
    });
  }
}
