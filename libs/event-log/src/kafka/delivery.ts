/** Where one partition of a consumer stands, while it is this process's. */
export class Delivery {
  /** The offset of the next record to deliver. */
  next: number;
  /** What the group is known to have committed. */
  committed: number;
  /** Everything below it is finished. */
  finished: number;
  /** Where a record was that nobody but the dead letters got: from the position before it to the one after. */
  readonly #passed = new Map<number, number>();

  constructor(start: number) {
    this.next = start;
    this.committed = start;
    this.finished = start;
  }

  delivered(offset: number): void {
    this.next = offset + 1;
  }

  /** A record that is finished without having been delivered. */
  passed(offset: number): void {
    this.#passed.set(this.next, offset + 1);
    this.next = offset + 1;
    this.#advance();
  }

  /** Everything below the position is finished. Never moves back. */
  finish(position: number): void {
    if (position > this.finished) this.finished = position;
    this.#advance();
  }

  #advance(): void {
    for (let after = this.#passed.get(this.finished); after !== undefined; after = this.#passed.get(this.finished)) {
      this.#passed.delete(this.finished);
      this.finished = after;
    }
  }
}
