/** What a walk over a stream met: where in the chunk a frame's first bytes were complete, and those bytes. */
export interface FrameStart {
  readonly end: number;
  readonly head: Buffer;
}

/**
 * Finds the frames of the Kafka protocol in one direction of a connection, without holding any bytes back. A frame is its size
 * (32 bits, big endian) and so many bytes: for a request the API's key and version (16 bits each) and the correlation id
 * (32 bits), for a reply the correlation id. Source: the Kafka protocol guide, "Request and response headers".
 */
export class Frames {
  #head = Buffer.alloc(0);
  #left = 0;

  /** @param headBytes how many bytes of each frame are wanted, its size included; no frame may be shorter */
  constructor(private readonly headBytes: number) {}

  /** The frames whose first bytes became complete in this chunk. */
  push(chunk: Buffer): FrameStart[] {
    const found: FrameStart[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, chunk.length - at);
        this.#left -= skipped;
        at += skipped;
        continue;
      }
      const piece = chunk.subarray(at, at + this.headBytes - this.#head.length);
      this.#head = Buffer.concat([this.#head, piece]);
      at += piece.length;
      if (this.#head.length === this.headBytes) {
        found.push({ end: at, head: this.#head });
        this.#left = this.#head.readUInt32BE(0) + 4 - this.headBytes;
        this.#head = Buffer.alloc(0);
      }
    }
    return found;
  }
}
