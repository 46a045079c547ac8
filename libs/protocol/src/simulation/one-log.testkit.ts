import type { AppendAnswer } from '#lib/event-log';
import { type EvaluationView, initialState, observe } from '#lib/evaluation';
import { chainOf, emptyChains, type Entry, type EvalRunId, mayContinue } from '#lib/ledger';
import type { LogClient } from './log-client.testkit.js';
import type { Process } from './process.testkit.js';

interface Pending {
  readonly entries: readonly Entry[];
  readonly session: string;
  readonly answer: (answer: AppendAnswer) => void;
}

/** One log with a total order that every process reads whole, at its own pace: the rules of writing at their barest, and the embedded log. */
export class OneLog implements LogClient {
  private position = 0;
  private views = new Map<EvalRunId, EvaluationView>();
  private pending: Pending[] = [];
  private reads: { readonly target: number; readonly done: () => void }[] = [];
  private outbox: (readonly Entry[])[] = [];
  private sending = false;
  private noticing = false;

  constructor(private readonly process: Process) {}

  reset(): void {
    this.position = 0;
    this.views = new Map();
    this.pending = [];
    this.reads = [];
    this.outbox = [];
    this.sending = false;
    this.noticing = false;
  }

  view(evaluation: EvalRunId): EvaluationView {
    let view = this.views.get(evaluation);
    if (view === undefined) {
      view = { live: emptyChains(evaluation), state: initialState(evaluation) };
      this.views.set(evaluation, view);
    }
    return view;
  }

  complete(evaluation: EvalRunId): EvaluationView | null {
    return this.position < this.process.world.log.length ? null : (this.views.get(evaluation) ?? null);
  }

  open(_evaluation: EvalRunId, opened: () => void): void {
    opened();
  }

  close(): void {}

  endFor(): number {
    return this.process.world.log.length;
  }

  beginningOf(_evaluation: EvalRunId, found: (from: number | null) => void): void {
    found(null);
  }

  readToEnd(_evaluation: EvalRunId, done: () => void): void {
    const { world } = this.process;
    const read = { target: world.log.length, done };
    world.later(world.latency(), this.process, () => {
      if (this.position >= read.target) done();
      else this.reads.push(read);
    });
  }

  append(entries: readonly Entry[], session: string, answer: (answer: AppendAnswer) => void): void {
    this.pending.push({ entries, session, answer });
    this.outbox.push(entries);
    this.send();
  }

  publish(_place: string, land: () => void, done: () => void = () => {}): void {
    const { process } = this;
    const { world, incarnation } = process;
    const copies = world.faulty && world.chance.chance(world.mix.commandTwice) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      world.inFlight++;
      world.later(world.latency(), null, () => {
        world.inFlight--;
        if (process.incarnation !== incarnation && world.chance.chance(world.mix.lostAtCrash)) return;
        land();
        if (copy === 0) world.later(world.latency(), process, done);
      });
    }
  }

  notice(): void {
    const { world, alive } = this.process;
    if (!alive || this.noticing) return;
    this.noticing = true;
    world.later(world.chance.below(world.mix.readDelay), this.process, () => {
      this.noticing = false;
      this.read();
    });
  }

  private read(): void {
    const { log, chance, mix, rules } = this.process.world;
    const backlog = log.length - this.position;
    const count = backlog > 1 && chance.chance(mix.partialReads) ? 1 + chance.below(backlog) : backlog;
    if (count === 0) return;
    const touched = new Set<string>();
    for (const end = this.position + count; this.position < end; this.position++) {
      const entry = log[this.position] as Entry;
      const view = this.view(entry.eval);
      observe(view.state, entry, rules.fold(view.live, entry));
      touched.add(entry.ledger);
      if (entry.type === 'run_sealed') touched.add(entry.eval);
    }
    this.settle();
    this.process.changed(touched);
    if (this.position < log.length) this.notice();
  }

  private settle(): void {
    for (const append of [...this.pending]) {
      const answer = this.answerTo(append);
      if (answer === null) continue;
      this.pending.splice(this.pending.indexOf(append), 1);
      append.answer(answer);
    }
    for (const read of [...this.reads]) {
      if (this.position < read.target) continue;
      this.reads.splice(this.reads.indexOf(read), 1);
      read.done();
    }
  }

  /** Rule 3. An append that ended its own ledger is confirmed: nobody else ended it. */
  private answerTo({ entries, session }: Pending): AppendAnswer | null {
    const last = entries[entries.length - 1] as Entry;
    const { live } = this.view(last.eval);
    const chain = chainOf(live, last.ledger);
    const next = entries.find((entry) => chain?.hashes[entry.seq] !== entry.hash);
    if (next !== undefined) return this.process.world.rules.joins(live, next) ? null : 'lost';
    const ended = last.type === 'run_sealed' || last.type === 'eval_closed' || last.type === 'eval_report';
    return ended || mayContinue(live, last.ledger, { key: this.process.key.id, session }) ? 'confirmed' : 'lost';
  }

  /** Forgets what was read of an evaluation and reads it again from a position of the log. */
  refold(evaluation: EvalRunId, from: number): void {
    const { log, rules } = this.process.world;
    this.views.delete(evaluation);
    const view = this.view(evaluation);
    for (const entry of log.slice(from, this.position)) {
      if (entry.eval === evaluation) observe(view.state, entry, rules.fold(view.live, entry));
    }
  }

  /** One send in flight: the next goes out when this one is acknowledged. */
  private send(): void {
    const batch = this.outbox[0];
    if (batch === undefined || this.sending) return;
    this.sending = true;
    this.outbox.shift();
    const { process } = this;
    const { world, incarnation } = process;
    const { chance, mix } = world;
    const late = world.faulty && chance.chance(mix.late);
    const arrives = late ? chance.below(3 * mix.leaseMs) : world.latency();
    world.inFlight++;
    world.later(arrives, null, () => {
      world.inFlight--;
      if (process.incarnation !== incarnation && chance.chance(mix.lostAtCrash)) return;
      if (mix.conditional) this.landIfNext(batch);
      else this.land(batch);
    });
    world.later(arrives + world.latency(), process, () => {
      this.sending = false;
      this.send();
    });
  }

  private land(batch: readonly Entry[]): void {
    const { world } = this.process;
    const { chance, mix } = world;
    let delay = 0;
    for (const entry of batch) {
      if (world.faulty && chance.chance(mix.split)) delay += world.latency();
      if (delay === 0) world.land(entry);
      else {
        world.inFlight++;
        world.later(delay, null, () => {
          world.inFlight--;
          world.land(entry);
        });
      }
    }
    if (!world.faulty || !chance.chance(mix.twice)) return;
    world.inFlight++;
    world.later(delay + chance.below(mix.leaseMs), null, () => {
      world.inFlight--;
      for (const entry of batch) world.land(entry);
    });
  }

  private landIfNext(batch: readonly Entry[]): void {
    const { world } = this.process;
    if (world.referee.wouldJoin(batch)) {
      for (const entry of batch) world.land(entry);
      return;
    }
    world.later(world.latency(), this.process, () => {
      const append = this.pending.find(({ entries }) => entries === batch);
      if (append === undefined) return;
      this.pending.splice(this.pending.indexOf(append), 1);
      // The refusal came from the log's end, so that end is in the view.
      while (this.position < world.log.length) this.read();
      append.answer('lost');
    });
  }
}
