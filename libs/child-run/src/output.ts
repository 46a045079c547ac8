const HEAD_BYTES = 32 * 1024;
const TAIL_BYTES = 32 * 1024;

/** Keeps the first and the last 32 KiB of a stream and counts what is left out, so that a flood costs no memory. */
export class Capture {
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  readonly #tail: Buffer[] = [];
  #tailBytes = 0;
  #dropped = 0;

  add(chunk: Buffer): void {
    const room = HEAD_BYTES - this.#headBytes;
    if (room > 0) {
      this.#head.push(chunk.subarray(0, room));
      this.#headBytes += Math.min(room, chunk.length);
    }
    if (chunk.length <= room) return;
    const rest = chunk.subarray(Math.max(0, room));
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    for (let first = this.#tail[0]; first !== undefined && this.#tailBytes > TAIL_BYTES; first = this.#tail[0]) {
      const excess = Math.min(first.length, this.#tailBytes - TAIL_BYTES);
      this.#dropped += excess;
      this.#tailBytes -= excess;
      if (excess === first.length) this.#tail.shift();
      else this.#tail[0] = first.subarray(excess);
    }
  }

  /** As UTF-8; what is not becomes U+FFFD. */
  text(): string {
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (this.#dropped === 0) return Buffer.concat([head, tail]).toString('utf8');
    return `${head.toString('utf8')}\n[${this.#dropped} bytes left out]\n${tail.toString('utf8')}`;
  }
}
