import type { Entry, EvalRunId, Joining, SignedDraft, SignedEntry } from '#lib/ledger';
import type { EventLog, Following, LogListener, LogRecord, TopicRecord, Topics } from './port.js';

export interface LogUnderTest {
  readonly log: EventLog;
  readonly topics: Topics;
  /** Another process over the same log: it reads and follows. */
  readonly elsewhere: { readonly log: EventLog; readonly topics: Topics };
  /** Writes a record without asking whether it joins, as whoever reaches the storage could. */
  putRaw(evaluation: EvalRunId, record: SignedEntry): Promise<void>;
  close(): Promise<void>;
}

export class Heard implements LogListener {
  readonly entries: Entry[] = [];
  readonly joinings: Joining[] = [];
  readonly foreignReasons: string[] = [];

  entry(entry: Entry, joining: Joining): void {
    this.entries.push(entry);
    this.joinings.push(joining);
  }
  foreign(_position: number, reason: string): void {
    this.foreignReasons.push(reason);
  }
  get types(): string[] {
    return this.entries.map(({ type }) => type);
  }
}

export function follow(log: EventLog, evaluation: EvalRunId, heard: Heard): Promise<Following> {
  return log.follow(evaluation, {
    entry: (entry, joining) => heard.entry(entry, joining),
    foreign: (position, reason) => heard.foreign(position, reason),
  });
}

export async function joinedTypes(on: LogUnderTest, evaluation: EvalRunId): Promise<string[]> {
  const heard = new Heard();
  (await follow(on.elsewhere.log, evaluation, heard)).stop();
  return heard.types.filter((_, index) => heard.joinings[index] === 'joined');
}

export function collect(): { readonly records: TopicRecord[]; record(record: TopicRecord): void } {
  const records: TopicRecord[] = [];
  return { records, record: (record) => void records.push(record) };
}

export async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

export function withSignature(draft: SignedDraft, signature: Uint8Array): SignedDraft {
  return { ...draft, entry: { ...draft.entry, envelope: { ...draft.entry.envelope, signature } } };
}

export function plain(record: LogRecord['record']): unknown {
  return { ...record, payload: plainBytes(record.payload), signature: plainBytes(record.signature) };
}

export function plainBytes(bytes: Uint8Array | null): number[] | null {
  return bytes === null ? null : [...bytes];
}

export const RUBBISH: SignedEntry = {
  payloadType: 'rubbish',
  payload: Uint8Array.of(0, 255, 1, 2),
  keyid: 'nobody' as SignedEntry['keyid'],
  signature: Uint8Array.of(1),
};
