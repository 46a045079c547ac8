import type { EvalRunId, JsonValue } from '#lib/ledger';
import { SchemaError } from '#lib/schemas';
import type { Decoding } from './decoding.js';
import type { DirectReader } from './direct.js';
import type { Ends } from './ends.js';
import { partitionOf } from './names.js';
import { pages } from './scans.js';

interface Known {
  next: number;
  turn: Promise<unknown>;
}

/** Where evaluations begin, as `eval.index` says; each partition of it is read once, when somebody first asks, and then on. */
export class IndexReader {
  readonly #from = new Map<string, number>();
  readonly #known = new Map<number, Known>();

  constructor(
    private readonly topic: string,
    private readonly parts: { readonly reader: DirectReader; readonly ends: Ends; readonly decoding: Decoding },
  ) {}

  /** Read to the end as of now: the smallest position that was ever given counts. */
  async beginningOf(evaluation: EvalRunId): Promise<number | null> {
    const { reader, ends } = this.parts;
    const partition = partitionOf(evaluation, reader.partitions(this.topic));
    const end = await ends.of(this.topic, partition);
    const known = this.#known.get(partition) ?? { next: 0, turn: Promise.resolve() };
    this.#known.set(partition, known);
    const read = known.turn.then(() => this.#read(partition, known, end));
    known.turn = read.catch(() => {});
    await read;
    return this.#from.get(evaluation) ?? null;
  }

  async #read(partition: number, known: Known, end: number): Promise<void> {
    if (known.next >= end) return;
    for await (const page of pages(this.parts.reader, this.topic, partition, known.next, end)) {
      for (const { key, value } of page) {
        const from = fromOf(await this.#decoded(value));
        const evaluation = String(key);
        const before = this.#from.get(evaluation);
        if (from !== null && (before === undefined || from < before)) this.#from.set(evaluation, from);
      }
    }
    known.next = end;
  }

  async #decoded(value: Buffer | null): Promise<JsonValue> {
    try {
      return await this.parts.decoding.decode('eval.index', value);
    } catch (error) {
      if (error instanceof SchemaError) return null;
      throw error;
    }
  }
}

function fromOf(value: JsonValue): number | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const { from } = value as { readonly from?: JsonValue };
  return typeof from === 'number' && Number.isSafeInteger(from) && from >= 0 ? from : null;
}
