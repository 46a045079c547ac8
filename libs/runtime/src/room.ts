/** How much of a partition may be at work at once: so many records, and so many bytes of them. */
export class Room {
  #records = 0;
  #bytes = 0;
  #full = false;

  constructor(
    private readonly most: number,
    private readonly mostBytes: number,
  ) {}

  /** Something came: whatever it is, it is taken. */
  take(bytes: number): void {
    this.#records += 1;
    this.#bytes += bytes;
    if (this.#records >= this.most || this.#bytes >= this.mostBytes) this.#full = true;
  }

  /** True when that makes room where there was none: not at once, so that not each record is asked for on its own. */
  leave(bytes: number): boolean {
    this.#records -= 1;
    this.#bytes -= bytes;
    if (!this.#full || this.#records > this.most / 2 || this.#bytes > this.mostBytes / 2) return false;
    this.#full = false;
    return true;
  }

  get full(): boolean {
    return this.#full;
  }
}
