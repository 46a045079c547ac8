import type { EvalRunId, JsonValue } from '#lib/ledger';
import { SchemaError } from '#lib/schemas';
import type { Decoding } from './decoding.js';
import type { DirectReader } from './direct.js';
import type { Ends } from './ends.js';
import { type DeploymentMark, MARK_PARTITION, markOf } from './mark.js';
import { partitionOf } from './names.js';
import { Positions } from './positions.js';
import { pages } from './scans.js';

interface Known {
  next: number;
  turn: Promise<unknown>;
  from: Positions;
}

/** Where evaluations begin, as `eval.index` says; each partition of it is read once, when somebody first asks, and then on. */
export class IndexReader {
  readonly #known = new Map<number, Known>();
  #mark: DeploymentMark | null = null;

  constructor(
    private readonly topic: string,
    private readonly parts: { readonly reader: DirectReader; readonly ends: Ends; readonly decoding: Decoding },
  ) {}

  /**
   * Read to the end as of now: the smallest position that was ever given counts. `null`: nobody has begun it, for the index is complete and has
   * nothing of it; where the index does not say that it is complete, that is 0.
   */
  async beginningOf(evaluation: EvalRunId): Promise<number | null> {
    return (await this.indexed(evaluation)) ?? ((await this.mark()) === null ? 0 : null);
  }

  /** The same, whether or not the index is complete: `null` where it has nothing of the evaluation. */
  async indexed(evaluation: EvalRunId): Promise<number | null> {
    const { reader } = this.parts;
    const partition = partitionOf(evaluation, reader.partitions(this.topic));
    return (await this.#upToDate(partition)).from.get(evaluation) ?? null;
  }

  /** What the deployment says of itself; `null` where the index was lost, or made by a version that did not mark it. */
  async mark(): Promise<DeploymentMark | null> {
    await this.#upToDate(MARK_PARTITION);
    return this.#mark;
  }

  async #upToDate(partition: number): Promise<Known> {
    const end = await this.parts.ends.of(this.topic, partition);
    const known = this.#known.get(partition) ?? { next: 0, turn: Promise.resolve(), from: new Positions() };
    this.#known.set(partition, known);
    const read = known.turn.then(() => this.#read(partition, known, end));
    known.turn = read.catch(() => {});
    await read;
    return known;
  }

  async #read(partition: number, known: Known, end: number): Promise<void> {
    if (known.next >= end) return;
    for await (const page of pages(this.parts.reader, this.topic, partition, known.next, end)) {
      for (const { key, value } of page) {
        const mark = partition === MARK_PARTITION ? markOf(value) : null;
        if (mark !== null) this.#mark = mark;
        const from = mark === null ? fromOf(await this.#decoded(value)) : null;
        if (from !== null) known.from.note(String(key), from);
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
