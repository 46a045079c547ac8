/** No batch that a broker takes is larger by right; what is, is made to fill the memory. */
export const MOST_BYTES = 64 * 1024 * 1024;

/** Output of a decompressor, which may copy from what it wrote before. */
export class Growing {
  #bytes = Buffer.allocUnsafe(64 * 1024);
  #length = 0;

  append(bytes: Buffer): void {
    this.#reserve(bytes.length);
    bytes.copy(this.#bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Copies so many bytes from so far back; the copy may overlap itself. @throws RangeError */
  repeat(back: number, length: number): void {
    if (back < 1 || back > this.#length) throw new RangeError('a copy from before the beginning');
    this.#reserve(length);
    let from = this.#length - back;
    for (let left = length; left > 0; left--) this.#bytes[this.#length++] = this.#bytes[from++] as number;
  }

  done(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed > MOST_BYTES) throw new RangeError('more output than a batch may have');
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.min(MOST_BYTES, Math.max(needed, this.#bytes.length * 2)));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** The next bytes of an input. @throws RangeError where it is cut off */
export class Input {
  at = 0;
  constructor(readonly bytes: Buffer) {}

  get over(): boolean {
    return this.at >= this.bytes.length;
  }

  byte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new RangeError('the input is cut off');
    return byte;
  }

  /** Little endian, of up to four bytes. */
  number(size: number): number {
    this.at += size;
    return this.bytes.readUIntLE(this.at - size, size);
  }

  take(length: number): Buffer {
    if (this.at + length > this.bytes.length) throw new RangeError('the input is cut off');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}
