import type { AppendAnswer } from '#lib/event-log';
import { type EvaluationView, initialState, observe } from '#lib/evaluation';
import { emptyChains, type Entry, type EvalRunId } from '#lib/ledger';
import { IndexReader } from './index-reader.testkit.js';
import type { KafkaCluster } from './kafka-cluster.testkit.js';
import { type Follower, Tail } from './kafka-tail.testkit.js';
import type { LogClient } from './log-client.testkit.js';
import type { Process } from './process.testkit.js';
import { SendQueue } from './send-queue.testkit.js';
import { StandingReader } from './standing-reader.testkit.js';

interface Open {
  readonly view: EvaluationView;
  readonly tail: Tail;
  readonly follower: Follower;
  users: number;
  ready: boolean;
  readonly waiting: (() => void)[];
}

/** A process's `LedgerLog` with its standing reader, its index reader and its one producer, and the views that the services share. */
export class KafkaLog implements LogClient {
  private tails = new Map<EvalRunId, Tail>();
  private opens = new Map<EvalRunId, Open>();
  /** The appends of a ledger, one after another. */
  private turns = new Map<string, (() => void)[]>();
  private index: IndexReader;
  private readonly reader: StandingReader;
  private readonly sender: SendQueue;

  constructor(
    private readonly process: Process,
    private readonly cluster: KafkaCluster,
  ) {
    this.sender = new SendQueue(process, cluster);
    this.index = new IndexReader(process, cluster);
    this.reader = new StandingReader(process, cluster, (position, entry) => {
      const tail = this.tails.get(entry.eval);
      if (tail?.takesLive === true) tail.take(position, entry);
    });
  }

  reset(): void {
    this.reader.reset();
    this.tails = new Map();
    this.opens = new Map();
    this.turns = new Map();
    this.index = new IndexReader(this.process, this.cluster);
    this.sender.reset();
  }

  view(evaluation: EvalRunId): EvaluationView {
    const open = this.opens.get(evaluation);
    if (open === undefined) throw new Error(`${this.process.name} does not follow ${evaluation}`);
    return open.view;
  }

  complete(evaluation: EvalRunId): EvaluationView | null {
    const open = this.opens.get(evaluation);
    if (open === undefined || !open.ready || !open.tail.isIdle) return null;
    const { partition } = open.tail;
    return this.reader.next(partition) < this.cluster.partition(partition).length ? null : open.view;
  }

  notice(): void {
    this.reader.notice();
  }

  endFor(evaluation: EvalRunId): number {
    return this.cluster.partition(this.cluster.partitionOf(evaluation)).length;
  }

  beginningOf(evaluation: EvalRunId, found: (from: number | null) => void): void {
    this.index.beginningOf(evaluation, found);
  }

  // Tails.

  private use(evaluation: EvalRunId): Tail {
    let tail = this.tails.get(evaluation);
    if (tail === undefined) {
      const { page, foldDelay } = this.cluster.mix;
      tail = new Tail(evaluation, this.cluster.partitionOf(evaluation), this.process, page, foldDelay);
      this.attach(tail);
    }
    this.tails.delete(evaluation);
    this.tails.set(evaluation, tail);
    tail.users++;
    return tail;
  }

  private release(tail: Tail): void {
    if (--tail.users > 0) return;
    if (tail.live.closed !== null) return this.drop(tail);
    const idle = [...this.tails.values()].filter(({ users }) => users === 0);
    for (const oldest of idle.slice(0, Math.max(0, idle.length - this.cluster.mix.idleTails))) this.drop(oldest);
  }

  private drop(tail: Tail): void {
    if (this.tails.get(tail.evaluation) === tail) this.tails.delete(tail.evaluation);
  }

  /** Folds the history of an evaluation; what comes live meanwhile waits. */
  private attach(tail: Tail): void {
    const { partition, evaluation } = tail;
    this.beginningOf(evaluation, (from) => {
      tail.from = from ?? 0;
      this.process.world.referee.readsFrom(evaluation, tail.from);
      this.reader.end(partition, (end) =>
        this.reader.reached(partition, end, () => {
          const until = this.reader.next(partition);
          tail.takesLive = true;
          this.scan(
            tail,
            tail.from,
            until,
            (records) => tail.fold(records),
            () => tail.isLevel(),
          );
        }),
      );
    });
  }

  /** The records of an evaluation from one position to another, a page at a time. */
  private scan(
    tail: Tail,
    from: number,
    end: number,
    sink: (records: { readonly position: number; readonly entry: Entry }[]) => void,
    done: () => void,
  ): void {
    if (from >= end) return done();
    const { process, cluster } = this;
    const { world } = process;
    const to = Math.min(end, from + 2 * cluster.mix.page);
    world.later(world.chance.below(cluster.mix.foldDelay), process, () => {
      const log = cluster.partition(tail.partition);
      const records = [];
      for (let position = from; position < to; position++) {
        const entry = log[position] as Entry;
        if (entry.eval === tail.evaluation) records.push({ position, entry });
      }
      sink(records);
      this.scan(tail, to, end, sink, done);
    });
  }

  private tailToEnd(tail: Tail, done: () => void): void {
    this.reader.end(tail.partition, (end) => this.reader.reached(tail.partition, end, () => tail.settled(done)));
  }

  // Views.

  open(evaluation: EvalRunId, opened: () => void): void {
    let open = this.opens.get(evaluation);
    if (open === undefined) {
      open = this.follow(evaluation);
      this.opens.set(evaluation, open);
    }
    open.users++;
    if (open.ready) opened();
    else open.waiting.push(opened);
  }

  close(evaluation: EvalRunId): void {
    const open = this.opens.get(evaluation);
    if (open === undefined || --open.users > 0) return;
    this.opens.delete(evaluation);
    open.tail.followers.delete(open.follower);
    this.release(open.tail);
  }

  private follow(evaluation: EvalRunId): Open {
    const tail = this.use(evaluation);
    const state = initialState(evaluation);
    const follower: Follower = (entry, joining) => {
      observe(state, entry, joining);
      if (this.opens.get(evaluation) === open)
        this.process.changed(new Set(entry.type === 'run_sealed' ? [entry.ledger, entry.eval] : [entry.ledger]));
    };
    const open: Open = { view: { live: tail.live, state }, tail, follower, users: 0, ready: false, waiting: [] };
    const ready = () => {
      open.ready = true;
      for (const opened of open.waiting.splice(0)) opened();
    };
    if (tail.next === 0) {
      tail.followers.add(follower);
      tail.onceAttached(() => this.tailToEnd(tail, ready));
    } else tail.onceAttached(() => this.tailToEnd(tail, () => this.hearAlone(open, ready)));
    return open;
  }

  /** The shared fold is ahead of what this follower has heard, so it hears along a fold of its own. */
  private hearAlone({ tail, follower }: Open, ready: () => void): void {
    const own = emptyChains(tail.evaluation);
    const { rules } = this.process.world;
    const hear = (heard: number): void => {
      if (heard >= tail.next) {
        tail.followers.add(follower);
        return ready();
      }
      const end = tail.next;
      this.scan(
        tail,
        heard,
        end,
        (records) => {
          for (const { entry } of records) follower(entry, rules.fold(own, entry));
        },
        () => hear(end),
      );
    };
    hear(tail.from);
  }

  readToEnd(evaluation: EvalRunId, done: () => void): void {
    const open = this.opens.get(evaluation);
    if (open !== undefined) this.tailToEnd(open.tail, done);
  }

  // Appends.

  publish(place: string, land: () => void, done: () => void = () => {}): void {
    this.sender.send({ place, land, done });
  }

  append(entries: readonly Entry[], _session: string, answer: (answer: AppendAnswer) => void): void {
    const { eval: evaluation, ledger } = entries[0] as Entry;
    const tail = this.use(evaluation);
    const turn = () =>
      tail.onceAttached(() =>
        this.send(tail, entries, (answered) => {
          const next = this.turns.get(ledger)?.shift();
          if (next === undefined) this.turns.delete(ledger);
          this.release(tail);
          answer(answered);
          next?.();
        }),
      );
    const before = this.turns.get(ledger);
    if (before !== undefined) before.push(turn);
    else {
      this.turns.set(ledger, []);
      turn();
    }
  }

  private send(tail: Tail, entries: readonly Entry[], answer: (answer: AppendAnswer) => void): void {
    if (tail.takes(entries)) return this.confirm(tail, entries, answer);
    // What it follows may have been written by somebody else a moment ago.
    this.tailToEnd(tail, () => {
      if (tail.takes(entries)) this.confirm(tail, entries, answer);
      else answer('lost');
    });
  }

  private confirm(tail: Tail, entries: readonly Entry[], answer: (answer: AppendAnswer) => void): void {
    const { process, cluster } = this;
    const { world } = process;
    const { answersAtAcknowledgement } = world.rules;
    let answered = false;
    const once = (given: AppendAnswer) => {
      if (answered) return;
      answered = true;
      tail.forget(entries);
      answer(given);
    };
    tail.readBack(entries, once);
    let missing = entries.length;
    let end = 0;
    const land = (entry: Entry) => {
      world.land(entry);
      end = cluster.partition(tail.partition).length;
    };
    const acknowledged = () => {
      if (--missing > 0) return;
      if (answersAtAcknowledgement) return once('confirmed');
      this.reader.reached(tail.partition, end, () =>
        tail.settled(() => {
          if (tail.awaits(entries)) throw new Error('an entry was acknowledged and is not in the log');
        }),
      );
    };
    for (const entry of entries) this.publish(`eval.ledger/${tail.partition}`, () => land(entry), acknowledged);
  }
}
