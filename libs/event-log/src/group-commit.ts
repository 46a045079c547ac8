import { clearTimeout, setImmediate, setTimeout } from 'node:timers';
import {
  type Entry,
  equalBytes,
  joins,
  mayContinue,
  sha256Hex,
  type SignedDraft,
  type SignedEntry,
  writerOf,
} from '#lib/ledger';
import { LogError, type Topic } from './port.js';
import type { Store } from './store.js';
import type { Tail } from './tail.js';
import { type AppendWork, type CommitWork, type Work, write, type Written } from './work.js';

const LONGEST_WAIT_MS = 5;
/** A committed position waits this long for something else to be written: a restart only does again what lies between. */
const POSITION_WAIT_MS = 20;

/** One transaction, and so one wait for the disk, for everything that was queued while the last one waited for it. */
export class GroupCommit {
  /** Appends whose signatures are being checked: a group waits for them, but no longer than the last commit took. */
  expecting = 0;
  #queue: Work[] = [];
  #scheduled = false;
  #waiting: NodeJS.Timeout | undefined;
  #unhurried: NodeJS.Timeout | undefined;
  #commitMs = 0;
  /** The transaction that waits for the disk. Never rejects. */
  #syncing: Promise<void> | null = null;
  /** Why nothing more is taken. */
  #refused: unknown = null;

  constructor(
    private readonly store: Store,
    private readonly published: (topics: ReadonlySet<Topic>) => void,
  ) {}

  add(work: Work): void {
    if (this.#refused !== null) return work.reject(this.#refused);
    this.#queue.push(work);
    this.#schedule();
  }

  /** Writes what is queued; refuses what comes later. */
  async close(): Promise<void> {
    this.#refused ??= closed();
    do {
      this.#flush();
      await this.#syncing;
    } while (this.#queue.length > 0);
  }

  #schedule(): void {
    if (this.#syncing !== null || this.#scheduled || this.#queue.length === 0) return;
    if (this.#queue.every(({ kind }) => kind === 'commit')) {
      this.#unhurried ??= setTimeout(() => this.#flush(), POSITION_WAIT_MS);
      return;
    }
    if (this.expecting > 0 && this.#commitMs >= 1) {
      this.#waiting ??= setTimeout(() => this.#flush(), Math.min(this.#commitMs, LONGEST_WAIT_MS));
      return;
    }
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    clearTimeout(this.#waiting);
    clearTimeout(this.#unhurried);
    this.#waiting = undefined;
    this.#unhurried = undefined;
    this.#scheduled = false;
    if (this.#syncing !== null) return;
    const group = this.#takeGroup();
    if (group.length === 0) return;
    let written: Written[] = [];
    let behind: AppendWork[] = [];
    let lost: AppendWork[] = [];
    const begun = performance.now();
    try {
      this.store.transaction((tx) => {
        const appends = group.filter((work) => work.kind === 'append');
        const current = new Map<Tail, boolean>();
        for (const { tail } of appends) if (!current.has(tail)) current.set(tail, tail.current);
        behind = appends.filter((work) => current.get(work.tail) !== true);
        // All are judged before any is written: none rests on another that is not confirmed yet.
        lost = appends.filter((work) => !behind.includes(work) && !isNext(work));
        const out = new Set<Work>([...behind, ...lost]);
        const passed = passedPositions(group);
        written = group
          .filter((work) => !out.has(work))
          .map((work) => (work.kind === 'commit' && passed.has(work) ? { work } : write(tx, work)));
      });
    } catch (error) {
      // What waits behind them was drafted to follow them.
      for (const work of [...group, ...this.#queue.splice(0)]) work.reject(error);
      return;
    }
    for (const work of lost) work.resolve('lost');
    this.#readBehind(behind);
    const synced = written.length === 0 ? null : this.store.sync();
    if (synced === null) return this.#isDurable(written, begun);
    this.#syncing = synced.then(
      () => this.#isDurable(written, begun),
      (error: unknown) => this.#isUnsure(written, error),
    );
  }

  /** Written, but nobody knows whether it would outlast a power cut, and what comes later rests on it. */
  #isUnsure(written: readonly Written[], error: unknown): void {
    this.#syncing = null;
    this.#refused ??= error;
    for (const { work } of written) work.reject(error);
    for (const work of this.#queue.splice(0)) work.reject(error);
  }

  #isDurable(written: readonly Written[], begun: number): void {
    this.#syncing = null;
    this.#commitMs = performance.now() - begun;
    try {
      this.#confirm(written);
    } catch (error) {
      // Written, but not read back: nobody is told that it was confirmed. Those already answered stay answered.
      for (const { work } of written) work.reject(error);
    }
    this.#schedule();
    const topics = new Set(written.flatMap((done) => ('position' in done ? [done.work.topic] : [])));
    if (topics.size > 0) this.published(topics);
  }

  /** Everything queued, but for each ledger its first append only: the next one is judged when that is folded. */
  #takeGroup(): Work[] {
    const ledgers = new Set<string>();
    const later: Work[] = [];
    const group = this.#queue.filter((work) => {
      if (work.kind !== 'append') return true;
      const ledger = (work.drafts[0] as SignedDraft).entry.ledger;
      const first = !ledgers.has(ledger);
      ledgers.add(ledger);
      if (!first) later.push(work);
      return first;
    });
    this.#queue = later;
    return group;
  }

  /** Somebody else wrote to these evaluations: read that first, then judge again. */
  #readBehind(behind: readonly AppendWork[]): void {
    for (const work of behind) {
      work.tail.advance().then(
        () => this.add(work),
        (error: unknown) => work.reject(error),
      );
    }
  }

  #confirm(written: readonly Written[]): void {
    const answers: (() => void)[] = [];
    const positions = written.flatMap((done) => ('positions' in done ? done.positions : []));
    const [first] = positions;
    // One transaction, so they follow one another.
    const stored = first === undefined ? [] : this.store.range(first, positions[positions.length - 1] as number);
    const byPosition = new Map(stored.map(({ position, record }) => [position, record]));
    for (const done of written) {
      if ('positions' in done) answers.push(this.#foldBack(done.work, done.positions, byPosition));
      else if ('position' in done) answers.push(() => done.work.resolve(done.position));
      else {
        const { work } = done;
        answers.push(() => work.resolve(undefined));
      }
    }
    for (const answer of answers) answer();
  }

  /** Folds the entries as they were read back. What it returns answers the append once the whole group is folded. */
  #foldBack(
    { tail, drafts, resolve, reject }: AppendWork,
    positions: readonly number[],
    byPosition: ReadonlyMap<number, SignedEntry>,
  ): () => void {
    let joined = true;
    let damage: LogError | null = null;
    for (const [index, draft] of drafts.entries()) {
      const position = positions[index] as number;
      const record = byPosition.get(position);
      const whole = record !== undefined && sameRecord(record, draft.entry.envelope);
      if (!whole || !this.#holds(draft.attachment)) damage ??= notAsWritten(draft);
      // The fold is that of every reader: an entry without its attachment links, one with other bytes does not.
      if (!whole) tail.skip(position, notAsWritten(draft).message);
      else if (tail.take(position, draft.entry) !== 'joined') joined = false;
    }
    const last = (drafts[drafts.length - 1] as SignedDraft).entry;
    return () => {
      if (damage !== null) return reject(damage);
      const stands = ENDS.has(last.type) || mayContinue(tail.live, last.ledger, writerOf(last));
      resolve(joined && stands ? 'confirmed' : 'lost');
    };
  }

  #holds(attachment: SignedDraft['attachment']): boolean {
    if (attachment === null) return true;
    const bytes = this.store.attachment(attachment.ref.sha256);
    return bytes !== undefined && sha256Hex(bytes) === attachment.ref.sha256;
  }
}

/** A ledger's last entries: after them its writer may not go on, and they stand all the same. */
export const ENDS: ReadonlySet<Entry['type']> = new Set(['run_sealed', 'eval_closed', 'eval_report']);

/** Positions that another of the group goes past. */
function passedPositions(group: readonly Work[]): ReadonlySet<CommitWork> {
  const passed = new Set<CommitWork>();
  const furthest = new Map<string, CommitWork>();
  for (const work of group) {
    if (work.kind !== 'commit') continue;
    const name = `${work.topic} ${work.group}`;
    const other = furthest.get(name);
    if (other !== undefined) passed.add(other.position > work.position ? work : other);
    if (other === undefined || work.position >= other.position) furthest.set(name, work);
  }
  return passed;
}

/** Whether the first entry joins what is folded, and each other one continues the one before. */
function isNext({ tail, drafts }: AppendWork): boolean {
  return drafts.every(({ entry }, index) => {
    const before = drafts[index - 1]?.entry;
    if (before === undefined) return joins(tail.live, entry);
    return entry.ledger === before.ledger && entry.prev === before.hash && entry.seq === before.seq + 1;
  });
}

function sameRecord(a: SignedEntry, b: SignedEntry): boolean {
  return (
    a.payloadType === b.payloadType &&
    a.keyid === b.keyid &&
    equalBytes(a.payload, b.payload) &&
    equalBytes(a.signature, b.signature)
  );
}

function notAsWritten({ entry }: SignedDraft): LogError {
  return new LogError(
    'log_corrupt',
    `entry ${entry.ledger}#${entry.seq} was not read back as it was written: check the disk and the database`,
  );
}

export function closed(): LogError {
  return new LogError('log_closed', 'this log was closed: open it again');
}
