import { type AttachmentRef, sha256Hex } from '#lib/ledger';
import { SchemaError } from '#lib/schemas';
import type { Decoding } from './decoding.js';
import type { DirectReader } from './direct.js';
import type { Ends } from './ends.js';
import { partitionOf } from './names.js';
import { pages } from './scans.js';
import type { Sender } from './sender.js';

/** What one writer sent of an attachment, by the id in its headers: another's parts, or forged ones, do not mix with it. */
interface Copy {
  readonly count: number;
  readonly size: number;
  readonly offsets: Map<number, number>;
}

/** The part of a partition that was looked through. */
interface Known {
  low: number;
  high: number;
  readonly copies: Map<string, Map<string, Copy>>;
  /** Lookups of one partition go through it one after another. */
  turn: Promise<unknown>;
}

const CHUNK_BYTES = 512 * 1024;
const CACHE_BYTES = 64 * 1024 * 1024;
/** Records that a step back goes through: what is asked for is most often new. */
const STEP = 256;
const MAX_CHUNKS = 4_096;

/** Attachments in chunks on a topic of their own, found by looking through their partition from its end back, each part once. */
export class Attachments {
  readonly #known = new Map<number, Known>();
  readonly #cache = new Map<string, Uint8Array>();
  #cached = 0;

  constructor(
    private readonly topic: string,
    private readonly parts: {
      readonly reader: DirectReader;
      readonly ends: Ends;
      readonly decoding: Decoding;
      readonly sender: Sender;
    },
  ) {}

  /** Resolves when the bytes are durable. */
  async put(bytes: Uint8Array): Promise<AttachmentRef> {
    const sha256 = sha256Hex(bytes);
    const ref = { sha256, size: bytes.length };
    if (this.#cache.has(sha256)) return ref;
    const whole = Uint8Array.from(bytes);
    const count = Math.max(1, Math.ceil(whole.length / CHUNK_BYTES));
    const copy = crypto.randomUUID();
    const sent = Array.from({ length: count }, (_, index) => {
      const part = whole.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES);
      const value = { sha256, index, count, size: whole.length, bytes: part };
      return this.parts.sender.send('eval.attachment', sha256, value, { id: `${copy}/${index}`, subject: sha256 });
    });
    await Promise.all(sent);
    this.#keep(sha256, whole);
    return ref;
  }

  /** The bytes that the hash names; `null` where no whole copy of them is kept. */
  async get(sha256: string): Promise<Uint8Array | null> {
    const cached = this.#cache.get(sha256);
    if (cached !== undefined) {
      this.#cache.delete(sha256);
      this.#cache.set(sha256, cached);
      return cached;
    }
    const partition = partitionOf(sha256, this.parts.reader.partitions(this.topic));
    const end = await this.parts.ends.of(this.topic, partition);
    const known = this.#known.get(partition) ?? { low: end, high: end, copies: new Map(), turn: Promise.resolve() };
    this.#known.set(partition, known);
    const found = known.turn.then(() => this.#find(known, partition, sha256, end));
    known.turn = found.catch(() => {});
    const bytes = await found;
    if (bytes !== null) this.#keep(sha256, bytes);
    return bytes;
  }

  async #find(known: Known, partition: number, sha256: string, end: number): Promise<Uint8Array | null> {
    if (known.high < end) {
      await this.#look(known, partition, known.high, end);
      known.high = end;
    }
    const there = await this.#assemble(known, partition, sha256);
    if (there !== null || known.low === 0) return there;
    const beginning = (await this.parts.reader.ends(this.topic, true))[partition] ?? 0;
    while (known.low > beginning) {
      const from = Math.max(beginning, known.low - STEP);
      await this.#look(known, partition, from, known.low);
      known.low = from;
      const found = await this.#assemble(known, partition, sha256);
      if (found !== null) return found;
    }
    return null;
  }

  /** Notes where the parts in [from, end) lie. */
  async #look(known: Known, partition: number, from: number, end: number): Promise<void> {
    for await (const page of pages(this.parts.reader, this.topic, partition, from, end)) {
      for (const { offset, value, headers } of page) {
        const chunk = await this.#decoded(value);
        if (chunk === null || chunk.index < 0 || chunk.index >= chunk.count || chunk.count > MAX_CHUNKS) continue;
        const { sha256, index, count, size } = chunk;
        const copies = known.copies.get(sha256) ?? new Map<string, Copy>();
        known.copies.set(sha256, copies);
        const [id = ''] = String(headers?.['ce_id'] ?? '').split('/');
        const name = `${id} ${count} ${size}`;
        const copy = copies.get(name) ?? { count, size, offsets: new Map<number, number>() };
        copies.set(name, copy);
        if (!copy.offsets.has(index)) copy.offsets.set(index, Number(offset));
      }
    }
  }

  async #assemble(known: Known, partition: number, sha256: string): Promise<Uint8Array | null> {
    for (const { count, size, offsets } of known.copies.get(sha256)?.values() ?? []) {
      if (offsets.size < count) continue;
      const parts: Uint8Array[] = [];
      for (let index = 0; index < count; index++) {
        const offset = offsets.get(index);
        const fetched =
          offset === undefined ? null : await this.parts.reader.fetchOne(this.topic, { partition, offset });
        const record = fetched?.records.find((one) => Number(one.offset) === offset);
        const chunk = record === undefined ? null : await this.#decoded(record.value);
        if (chunk === null) break;
        parts.push(chunk.bytes);
      }
      const whole = Buffer.concat(parts);
      if (whole.length === size && sha256Hex(whole) === sha256) return whole;
    }
    return null;
  }

  async #decoded(value: Buffer | null) {
    try {
      return await this.parts.decoding.decode('eval.attachment', value);
    } catch (error) {
      if (error instanceof SchemaError) return null;
      throw error;
    }
  }

  #keep(sha256: string, bytes: Uint8Array): void {
    if (bytes.length > CACHE_BYTES || this.#cache.has(sha256)) return;
    this.#cache.set(sha256, bytes);
    this.#cached += bytes.length;
    for (const [oldest, old] of this.#cache) {
      if (this.#cached <= CACHE_BYTES) return;
      this.#cache.delete(oldest);
      this.#cached -= old.length;
    }
  }
}
