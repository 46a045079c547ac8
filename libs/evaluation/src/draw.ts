import { canonicalJson, sha256, utf8 } from '#lib/ledger';

/**
 * Reproducible draws: block i is SHA-256(`"truss.draw.v1\0"` ‖ JCS([seed, ...purpose, i])), read as big-endian 48-bit
 * numbers, five to a block. One purpose, one stream, so that a new use of randomness changes no other.
 */
export class Draw {
  private block: Uint8Array = new Uint8Array(0);
  private offset = 30;
  private blocks = 0;
  private readonly purpose: readonly (string | number)[];

  constructor(
    private readonly seed: number,
    ...purpose: (string | number)[]
  ) {
    this.purpose = purpose;
  }

  /** A whole number in [0, bound), without modulo bias; bound up to 2^48. */
  below(bound: number): number {
    const limit = 2 ** 48 - (2 ** 48 % bound);
    for (;;) {
      const value = this.next48();
      if (value < limit) return value % bound;
    }
  }

  /** Fisher-Yates, on a copy. */
  shuffled<T>(items: readonly T[]): T[] {
    const result = [...items];
    for (let i = result.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [result[i], result[j]] = [result[j] as T, result[i] as T];
    }
    return result;
  }

  private next48(): number {
    if (this.offset >= 30) {
      this.block = sha256(utf8('truss.draw.v1\0'), utf8(canonicalJson([this.seed, ...this.purpose, this.blocks])));
      this.blocks += 1;
      this.offset = 0;
    }
    let value = 0;
    for (let i = 0; i < 6; i++) value = value * 256 + (this.block[this.offset + i] as number);
    this.offset += 6;
    return value;
  }
}
