import type { AppendAnswer } from '#lib/event-log';
import { type EvaluationView, initialState, observe } from '#lib/evaluation';
import { emptyChains, type Entry, type EvalRunId } from '#lib/ledger';
import type { KafkaCluster } from './kafka-cluster.testkit.js';
import { type Follower, Tail } from './kafka-tail.testkit.js';
import type { LogClient } from './log-client.testkit.js';
import type { Process } from './process.testkit.js';
import { SendQueue } from './send-queue.testkit.js';

interface Open {
  readonly view: EvaluationView;
  readonly tail: Tail;
  readonly follower: Follower;
  users: number;
  ready: boolean;
  readonly waiting: (() => void)[];
}

interface Place {
  next: number;
  fetching: boolean;
  waiting: { readonly position: number; readonly done: () => void }[];
}

/** A process's `LedgerLog` with its standing reader, its index reader and its one producer, and the views that the services share. */
export class KafkaLog implements LogClient {
  private places: Place[] = [];
  private tails = new Map<EvalRunId, Tail>();
  private opens = new Map<EvalRunId, Open>();
  /** The appends of a ledger, one after another. */
  private turns = new Map<string, (() => void)[]>();
  private indexed = { next: 0, from: new Map<EvalRunId, number>() };
  private readonly sender: SendQueue;

  constructor(
    private readonly process: Process,
    private readonly cluster: KafkaCluster,
  ) {
    this.sender = new SendQueue(process, cluster);
    this.reset();
  }

  reset(): void {
    this.places = this.cluster.ledger.map(({ length }) => ({ next: length, fetching: false, waiting: [] }));
    this.tails = new Map();
    this.opens = new Map();
    this.turns = new Map();
    this.indexed = { next: 0, from: new Map() };
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
    return this.place(partition).next < this.cluster.partition(partition).length ? null : open.view;
  }

  private place(partition: number): Place {
    return this.places[partition] as Place;
  }

  // The standing reader.

  notice(): void {
    for (const partition of this.places.keys()) this.fetch(partition);
  }

  private fetch(partition: number): void {
    const place = this.place(partition);
    const { process, cluster } = this;
    const { world } = process;
    if (!process.alive || place.fetching || place.next >= cluster.partition(partition).length) return;
    place.fetching = true;
    world.later(cluster.wait + world.chance.below(world.mix.readDelay), process, () => {
      place.fetching = false;
      const log = cluster.partition(partition);
      const backlog = log.length - place.next;
      const count =
        backlog > 1 && world.chance.chance(world.mix.partialReads) ? 1 + world.chance.below(backlog) : backlog;
      for (let i = 0; i < count; i++) {
        const position = place.next + i;
        const entry = log[position] as Entry;
        const tail = this.tails.get(entry.eval);
        if (tail?.takesLive === true) tail.take(position, entry);
      }
      place.next += count;
      const reached = place.waiting.filter(({ position }) => position <= place.next);
      place.waiting = place.waiting.filter(({ position }) => position > place.next);
      for (const { done } of reached) done();
      this.fetch(partition);
    });
  }

  private reached(partition: number, position: number, done: () => void): void {
    const place = this.place(partition);
    if (place.next >= position) done();
    else place.waiting.push({ position, done });
  }

  /** What the cluster has at the time of the call, asked of it. */
  private end(partition: number, answer: (end: number) => void): void {
    const { world } = this.process;
    world.later(this.cluster.wait + world.latency(), this.process, () => {
      const { length } = this.cluster.partition(partition);
      world.later(world.latency(), this.process, () => answer(length));
    });
  }

  beginningOf(evaluation: EvalRunId, found: (from: number | null) => void): void {
    const { cluster, process, indexed } = this;
    const { world } = process;
    world.later(cluster.wait + world.latency(), process, () => {
      const end = cluster.indexed.length;
      world.later(world.latency(), process, () => {
        for (; indexed.next < end; indexed.next++) {
          const record = cluster.indexed[indexed.next];
          if (record == null) continue;
          const before = indexed.from.get(record.eval);
          if (before === undefined || record.from < before || world.rules.laterBeginningsCount)
            indexed.from.set(record.eval, record.from);
        }
        found(indexed.from.get(evaluation) ?? null);
      });
    });
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
      this.end(partition, (end) =>
        this.reached(partition, end, () => {
          const until = this.place(partition).next;
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
    this.end(tail.partition, (end) => this.reached(tail.partition, end, () => tail.settled(done)));
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
      this.reached(tail.partition, end, () =>
        tail.settled(() => {
          if (tail.awaits(entries)) throw new Error('an entry was acknowledged and is not in the log');
        }),
      );
    };
    for (const entry of entries) this.publish(`eval.ledger/${tail.partition}`, () => land(entry), acknowledged);
  }
}
