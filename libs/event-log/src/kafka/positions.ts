import { createHash } from 'node:crypto';

/** No position is as large: the mark of an empty slot. */
const EMPTY = -1;
const BEGIN_SLOTS = 1_024;

/**
 * The smallest position that was noted of each key, in about 32 bytes a key: of a key it keeps 64 bits of the SHA-256. Should two keys have them in
 * common, both have the smaller position, which is never too far on.
 */
export class Positions {
  #size = 0;
  #hashes = new BigUint64Array(BEGIN_SLOTS);
  #values = new Float64Array(BEGIN_SLOTS).fill(EMPTY);

  get size(): number {
    return this.#size;
  }

  get(key: string): number | undefined {
    const value = this.#values[this.#slot(hashOf(key))] as number;
    return value === EMPTY ? undefined : value;
  }

  note(key: string, position: number): void {
    const hash = hashOf(key);
    const slot = this.#slot(hash);
    const before = this.#values[slot] as number;
    if (before !== EMPTY) {
      if (position < before) this.#values[slot] = position;
      return;
    }
    this.#hashes[slot] = hash;
    this.#values[slot] = position;
    this.#size++;
    if (this.#size * 2 > this.#hashes.length) this.#grow();
  }

  #slot(hash: bigint): number {
    const mask = this.#hashes.length - 1;
    let slot = Number(hash & BigInt(mask));
    while (this.#values[slot] !== EMPTY && this.#hashes[slot] !== hash) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const [hashes, values] = [this.#hashes, this.#values];
    this.#hashes = new BigUint64Array(hashes.length * 2);
    this.#values = new Float64Array(hashes.length * 2).fill(EMPTY);
    for (const [index, hash] of hashes.entries()) {
      const value = values[index] as number;
      if (value === EMPTY) continue;
      const slot = this.#slot(hash);
      this.#hashes[slot] = hash;
      this.#values[slot] = value;
    }
  }
}

function hashOf(key: string): bigint {
  return createHash('sha256').update(key).digest().readBigUInt64BE(0);
}
