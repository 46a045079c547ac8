/** Work of which only so much is under way at once; the rest waits its turn. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(private readonly atOnce: number) {}

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#taken === this.atOnce) await new Promise<void>((turn) => this.#waiting.push(turn));
    else this.#taken += 1;
    try {
      return await work();
    } finally {
      // Whoever waits takes this one's place.
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken -= 1;
      else next();
    }
  }
}
