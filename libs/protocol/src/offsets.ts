/**
 * Offsets are committed last: up to the lowest record that is not finished. Positions arrive in order and finish in any order.
 */
export class OffsetTracker {
  private readonly open = new Set<number>();
  private next = 0;

  /** A record was delivered: its work begins. */
  began(position: number): void {
    this.open.add(position);
    this.next = Math.max(this.next, position + 1);
  }

  /** The record's work is finished; returns the position up to which all is. */
  finished(position: number): number {
    this.open.delete(position);
    return this.committable();
  }

  committable(): number {
    // A Set keeps the order of insertion, which is the order of the log.
    for (const lowest of this.open) return lowest;
    return this.next;
  }
}
