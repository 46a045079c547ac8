import type { KafkaMessage } from 'kafkajs';
import { type EvalRunId, isEvalRunId, type KeyRing, openEntryAsync, type SignedEntry } from '#lib/ledger';
import type { LogRecord, ScannedRecord } from '../port.js';
import type { Decoding } from './decoding.js';
import type { DirectReader } from './direct.js';
import type { Ends } from './ends.js';
import type { IndexReader } from './index-reader.js';
import { partitionOf } from './names.js';
import { pages } from './scans.js';

export interface ReaderParts {
  readonly topic: string;
  readonly keys: KeyRing;
  readonly reader: DirectReader;
  readonly ends: Ends;
  readonly decoding: Decoding;
  readonly index: IndexReader;
}

/** Reads the ledger as it stands, to its end as of now, and folds nothing. */
export class LedgerReader {
  constructor(private readonly parts: ReaderParts) {}

  partition(evaluation: EvalRunId): number {
    return partitionOf(evaluation, this.parts.reader.partitions(this.parts.topic));
  }

  /** From where the index says, if the evaluation is found to begin there, else from the beginning of its partition. */
  async *records(evaluation: EvalRunId): AsyncGenerator<LogRecord> {
    const { ends, topic, index } = this.parts;
    const indexed = (await index.beginningOf(evaluation)) ?? 0;
    const end = await ends.of(topic, this.partition(evaluation));
    const said = indexed > end ? 0 : indexed;
    let believed = said === 0;
    for await (const record of this.#recordsOf(evaluation, said, end)) {
      believed ||= await this.isGenesis(evaluation, record.record);
      if (!believed) break;
      yield record;
    }
    if (!believed) yield* this.#recordsOf(evaluation, 0, end);
  }

  async *#recordsOf(evaluation: EvalRunId, from: number, end: number): AsyncGenerator<LogRecord> {
    const { reader, topic, decoding } = this.parts;
    for await (const page of pages(reader, topic, this.partition(evaluation), from, end)) {
      for (const { offset, key, value } of page) {
        if (String(key) === evaluation) yield { position: Number(offset), record: await decoding.entry(value) };
      }
    }
  }

  /** Whether the evaluation begins with this record, so that what stands before it may be passed over. */
  async isGenesis(evaluation: EvalRunId, record: SignedEntry): Promise<boolean> {
    const opened = await openEntryAsync(record, this.parts.keys);
    if (opened.kind !== 'entry') return false;
    const { eval: its, ledger, seq } = opened.entry;
    return its === evaluation && ledger === its && seq === 0;
  }

  /** All records of the ledger, in log order within an evaluation: a page at a time. */
  async *scan(): AsyncGenerator<readonly ScannedRecord[]> {
    const { decoding } = this.parts;
    for await (const page of this.#everything()) {
      yield await Promise.all(
        page.map(async ({ offset, key, value }) => ({
          evaluation: String(key),
          position: Number(offset),
          record: await decoding.entry(value),
        })),
      );
    }
  }

  /** Every evaluation that has a record, by the time of its first. */
  async *evaluations(): AsyncGenerator<EvalRunId> {
    const first = new Map<EvalRunId, number>();
    for await (const page of this.#everything()) {
      for (const { key, timestamp } of page) {
        const id = String(key);
        if (isEvalRunId(id) && !first.has(id)) first.set(id, Number(timestamp));
      }
    }
    yield* [...first].toSorted(([, a], [, b]) => a - b).map(([id]) => id);
  }

  async *#everything(): AsyncGenerator<readonly KafkaMessage[]> {
    const { reader, ends, topic } = this.parts;
    const last = await ends.all(topic);
    for (const [partition, end] of last.entries()) yield* pages(reader, topic, partition, 0, end);
  }
}
