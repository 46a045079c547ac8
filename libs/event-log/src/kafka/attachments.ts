import { type AttachmentRef, sha256Hex } from '#lib/ledger';
import { SchemaError } from '#lib/schemas';
import type { Decoding } from './decoding.js';
import type { DirectReader } from './direct.js';
import type { Ends } from './ends.js';
import { partitionOf } from './names.js';
import { Positions } from './positions.js';
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
  /** By hash, where the first part of each lies. */
  readonly first: Positions;
  /** Lookups of one partition go through it one after another. */
  turn: Promise<unknown>;
}

const CHUNK_BYTES = 512 * 1024;
const CACHE_BYTES = 64 * 1024 * 1024;
/** Records that a step back goes through: what is asked for is most often new. */
const STEP = 256;
/** More than any body of the ledger may have. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Parts of one attachment lie close to one another: so far on they are looked for before the search goes on back. */
const NEAR = 2_048;
/** Copies of one attachment that are put together at a time; forged ones push out the oldest. */
const MOST_COPIES = 16;

/** Attachments in chunks on a topic of their own, found by looking through their partition from its end back. */
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
    const count = countOf(whole.length);
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
    const known = this.#known.get(partition) ?? {
      low: end,
      high: end,
      first: new Positions(),
      turn: Promise.resolve(),
    };
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
    const noted = known.first.get(sha256);
    const there = noted === undefined ? null : await this.#collect(partition, sha256, noted, known.high);
    if (there !== null || known.low === 0) return there;
    const beginning = (await this.parts.reader.ends(this.topic, true))[partition] ?? 0;
    for (let before = noted; known.low > beginning; ) {
      const from = Math.max(beginning, known.low - STEP);
      await this.#look(known, partition, from, known.low);
      known.low = from;
      const first = known.first.get(sha256);
      if (first === undefined || first === before) continue;
      before = first;
      const found = await this.#collect(partition, sha256, first, Math.min(known.high, first + NEAR));
      if (found !== null) return found;
    }
    const first = known.first.get(sha256);
    return first === undefined || first === noted ? null : this.#collect(partition, sha256, first, known.high);
  }

  /** Notes where the attachments in [from, end) begin. */
  async #look(known: Known, partition: number, from: number, end: number): Promise<void> {
    for await (const page of pages(this.parts.reader, this.topic, partition, from, end)) {
      for (const { offset, value } of page) {
        const chunk = await this.#part(value);
        if (chunk !== null) known.first.note(chunk.sha256, Number(offset));
      }
    }
  }

  /** Puts a copy together of parts in [from, end), the first that is whole. */
  async #collect(partition: number, sha256: string, from: number, end: number): Promise<Uint8Array | null> {
    const copies = new Map<string, Copy>();
    for await (const page of pages(this.parts.reader, this.topic, partition, from, end)) {
      for (const { key, offset, value, headers } of page) {
        if (String(key) !== sha256) continue;
        const chunk = await this.#part(value);
        if (chunk?.sha256 !== sha256) continue;
        const { index, count, size } = chunk;
        const [id = ''] = String(headers?.['ce_id'] ?? '').split('/');
        const name = `${id} ${count} ${size}`;
        const copy = copies.get(name) ?? { count, size, offsets: new Map<number, number>() };
        // Last come last.
        copies.delete(name);
        copies.set(name, copy);
        if (copies.size > MOST_COPIES) copies.delete([...copies.keys()][0] as string);
        if (copy.offsets.has(index)) continue;
        copy.offsets.set(index, Number(offset));
        if (copy.offsets.size < count) continue;
        const whole = await this.#assemble(partition, sha256, copy);
        if (whole !== null) return whole;
        copies.delete(name);
      }
    }
    return null;
  }

  async #assemble(partition: number, sha256: string, { count, size, offsets }: Copy): Promise<Uint8Array | null> {
    const parts: Uint8Array[] = [];
    let length = 0;
    for (let index = 0; index < count; index++) {
      const offset = offsets.get(index);
      const fetched = offset === undefined ? null : await this.parts.reader.fetchOne(this.topic, { partition, offset });
      const record = fetched?.records.find((one) => Number(one.offset) === offset);
      const chunk = record === undefined ? null : await this.#part(record.value);
      if (chunk === null) return null;
      length += chunk.bytes.length;
      if (length > size) return null;
      parts.push(chunk.bytes);
    }
    const whole = Buffer.concat(parts);
    return whole.length === size && sha256Hex(whole) === sha256 ? whole : null;
  }

  /** `null` for what is no part of anything that this writes. */
  async #part(value: Buffer | null) {
    const chunk = await this.#decoded(value);
    return chunk !== null && isPart(chunk) ? chunk : null;
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

/** Whether the part is one of as many as its attachment's size has, and that size is one that is written. */
export function isPart({
  index,
  count,
  size,
}: {
  readonly index: number;
  readonly count: number;
  readonly size: number;
}): boolean {
  return size >= 0 && size <= MOST_BYTES && count === countOf(size) && index >= 0 && index < count;
}

function countOf(size: number): number {
  return Math.max(1, Math.ceil(size / CHUNK_BYTES));
}
