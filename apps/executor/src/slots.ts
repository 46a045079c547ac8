import type { ChildRunId } from '#lib/ledger';

/** So many runs at once, first come, first served. A run that waits for its turn, or for another executor's lease, holds none. */
export class Slots {
  private readonly held = new Set<ChildRunId>();
  private readonly queue = new Map<ChildRunId, () => void>();

  constructor(private readonly limit: number) {}

  get inUse(): number {
    return this.held.size;
  }

  /** Calls back when the run has a slot: at once where it has one. Asking twice is asking once. */
  take(child: ChildRunId, granted: () => void): void {
    if (!this.held.has(child) && this.held.size >= this.limit) {
      this.queue.set(child, granted);
      return;
    }
    this.held.add(child);
    granted();
  }

  /** Gives back the run's slot, or its place in the queue. */
  release(child: ChildRunId): void {
    this.queue.delete(child);
    if (!this.held.delete(child)) return;
    for (const [next, granted] of this.queue) {
      this.queue.delete(next);
      this.take(next, granted);
      return;
    }
  }
}
