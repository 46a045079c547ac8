/** Reproducible chance (sfc32): everything that a seed decides is drawn here. */
export class Chance {
  private a: number;
  private b: number;
  private c = 0x9e3779b9;
  private d = 1;

  constructor(seed: number) {
    this.a = seed >>> 0;
    this.b = Math.floor(seed / 2 ** 32) >>> 0;
    for (let i = 0; i < 12; i++) this.next();
  }

  /** A whole number in [0, 2^32). */
  next(): number {
    const t = (this.a + this.b + this.d) >>> 0;
    this.d = (this.d + 1) >>> 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) >>> 0;
    this.c = ((this.c << 21) | (this.c >>> 11)) + t;
    return (this.c = this.c >>> 0);
  }

  below(bound: number): number {
    return Math.floor((this.next() / 2 ** 32) * bound);
  }

  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability * 2 ** 32;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  }

  hex128(): string {
    return Array.from({ length: 4 }, () => this.next().toString(16).padStart(8, '0')).join('');
  }
}

/** A whole number in [0, 2^32) that follows from the words: results of simulated work depend on nothing else. */
export function fate(...words: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  for (const character of words.join('|')) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
