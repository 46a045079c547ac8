import { type FileHandle, open } from 'node:fs/promises';
import type { AgentEvent } from '#lib/ledger';
import { MAX_LINE_BYTES, parseEvent } from './agent-events.js';

const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

export interface TailLimits {
  readonly maxEvents: number;
  readonly maxBytes: number;
}
export const tailLimits: TailLimits = { maxEvents: 10_000, maxBytes: 8 * 1024 * 1024 };

/**
 * Reads an agent's event file as it grows, by the handle it was made with: whatever takes its name later is not followed. A line
 * over 64 KiB is cut there. Beyond its limits it reads no more and is `flooded`.
 */
export class EventTail {
  #position = 0;
  #events = 0;
  #line: Buffer[] = [];
  #lineBytes = 0;
  #flooded = false;
  readonly #chunk = Buffer.alloc(CHUNK_BYTES);

  private constructor(
    private readonly file: FileHandle,
    private readonly limits: TailLimits,
  ) {}

  static async create(path: string, limits: TailLimits): Promise<EventTail> {
    return new EventTail(await open(path, 'wx+', 0o600), limits);
  }

  get flooded(): boolean {
    return this.#flooded;
  }

  /** The events of the lines that are whole by now; with `last`, of the unfinished line too. */
  async read(last = false): Promise<AgentEvent[]> {
    const events: AgentEvent[] = [];
    while (!this.#flooded) {
      const { bytesRead } = await this.file.read(this.#chunk, 0, CHUNK_BYTES, this.#position);
      if (bytesRead === 0) break;
      this.#position += bytesRead;
      if (this.#position > this.limits.maxBytes) this.#flooded = true;
      this.#split(this.#chunk.subarray(0, bytesRead), events);
    }
    if (last && !this.#flooded) this.#endLine(events);
    return events;
  }

  async close(): Promise<void> {
    await this.file.close();
  }

  #split(data: Buffer, events: AgentEvent[]): void {
    let from = 0;
    for (let end = data.indexOf(NEWLINE); end !== -1; end = data.indexOf(NEWLINE, from)) {
      this.#extend(data.subarray(from, end));
      this.#endLine(events);
      from = end + 1;
    }
    this.#extend(data.subarray(from));
  }

  #extend(part: Buffer): void {
    const room = MAX_LINE_BYTES - this.#lineBytes;
    if (room <= 0 || part.length === 0) return;
    this.#line.push(Buffer.from(part.subarray(0, room)));
    this.#lineBytes += Math.min(room, part.length);
  }

  #endLine(events: AgentEvent[]): void {
    const event = this.#lineBytes === 0 ? null : parseEvent(Buffer.concat(this.#line).toString('utf8'));
    this.#line = [];
    this.#lineBytes = 0;
    if (event === null) return;
    if (this.#events >= this.limits.maxEvents) this.#flooded = true;
    else {
      this.#events += 1;
      events.push(event);
    }
  }
}
