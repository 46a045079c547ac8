/** Work of one name one after another, whatever comes of it; that of different names side by side. */
export class InTurn {
  readonly #last = new Map<string, Promise<void>>();

  /** Names whose work is not over. */
  get size(): number {
    return this.#last.size;
  }

  do<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(work);
    const over: Promise<void> = turn.then(
      () => this.#over(name, over),
      () => this.#over(name, over),
    );
    this.#last.set(name, over);
    return turn;
  }

  #over(name: string, over: Promise<void>): void {
    if (this.#last.get(name) === over) this.#last.delete(name);
  }
}
