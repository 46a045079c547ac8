/** Where one partition of a consumer stands, while it is this process's. */
export class Delivery {
  /** The offset of the next record to deliver. */
  next: number;
  /** What the group is known to have committed. */
  committed: number;
  /** Everything below it is finished. */
  finished: number;
  /** Where the partition ended at the last look. */
  #end: number;
  /** Whoever takes its records has no room for more. */
  full = false;
  /** Where it stood at the last look, and since when (in ms) it has not gone on though there are records. */
  #stoodAt: number;
  #standing: number | null = null;
  /** Where a record was that nobody but the dead letters got: from the position before it to the one after. */
  readonly #passed = new Map<number, number>();

  constructor(start: number) {
    this.next = start;
    this.committed = start;
    this.finished = start;
    this.#end = start;
    this.#stoodAt = start;
  }

  /** Records that are there and not delivered. */
  get lag(): number {
    return Math.max(0, this.#end - this.next);
  }

  /** A look at where the partition ends. `now`: of a clock that does not go back, in ms. */
  saw(end: number, now: number): void {
    this.#end = end;
    if (this.full || this.lag === 0 || this.next !== this.#stoodAt) this.#standing = null;
    else this.#standing ??= now;
    this.#stoodAt = this.next;
  }

  /** For how many ms nothing was delivered of what stands there, though there is room for it. */
  stalledFor(now: number): number {
    return this.#standing === null ? 0 : now - this.#standing;
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
