import type { AppendAnswer } from '#lib/event-log';
import { type EvaluationView, initialState, observe } from '#lib/evaluation';
import {
  chainOf,
  type ChildRunId,
  type Draft,
  emptyChains,
  type Entry,
  type EvalRunId,
  genesisHash,
  headOf,
  type LedgerId,
  mayContinue,
  type Place,
  signDraftSync,
} from '#lib/ledger';
import type { CoreEnv } from '../effects.js';
import type { OwnerEffect } from '../owner.js';
import type { ProjectionEffect } from '../projection.js';
import type { RunEffect, RunEvent } from '../run.js';
import type { SimulatedKey } from './keys.testkit.js';
import { EPOCH, type Group, type World } from './world.testkit.js';

export type AnyEffect = OwnerEffect | RunEffect | ProjectionEffect;

/** A core at work in a process. */
export interface Host {
  readonly evaluation: EvalRunId;
  readonly child: ChildRunId | null;
  readonly label: string;
  step(event: RunEvent, view: EvaluationView, env: CoreEnv): AnyEffect[];
  over: boolean;
  wakeAt: number;
}

interface Pending {
  readonly host: Host;
  readonly entries: readonly Entry[];
  readonly session: string;
}

/** A process: it reads the log at its own pace, hosts cores, and does for them what they want done. */
export abstract class Process {
  alive = true;
  paused = false;
  incarnation = 0;
  /** How far its clock is ahead of the world's. */
  skew = 0;
  stash: (() => void)[] = [];
  position = 0;
  views = new Map<EvalRunId, EvaluationView>();
  hosts: Host[] = [];
  protected pending: Pending[] = [];
  private reads: { readonly host: Host; readonly target: number }[] = [];
  private outbox: (readonly Entry[])[] = [];
  private sending = false;
  private noticing = false;
  readonly env: CoreEnv;

  constructor(
    readonly name: string,
    readonly key: SimulatedKey,
    readonly world: World,
    readonly group: Group,
  ) {
    const clock = () => this.clock();
    const { chance } = world;
    this.env = {
      get now() {
        return clock();
      },
      random128: () => chance.hex128(),
      below: (bound) => chance.below(bound),
    };
  }

  clock(): number {
    return EPOCH + this.world.now + this.skew;
  }

  trace(line: () => string): void {
    this.world.trace(() => `${this.name} ${line()}`);
  }

  view(evaluation: EvalRunId): EvaluationView {
    let view = this.views.get(evaluation);
    if (view === undefined) {
      view = { live: emptyChains(evaluation), state: initialState(evaluation) };
      this.views.set(evaluation, view);
    }
    return view;
  }

  crash(): void {
    this.trace(() => 'CRASH');
    this.alive = false;
    this.paused = false;
    this.incarnation++;
    this.stash = [];
    this.position = 0;
    this.views = new Map();
    this.hosts = [];
    this.pending = [];
    this.reads = [];
    this.outbox = [];
    this.sending = false;
    this.noticing = false;
  }

  restart(): void {
    this.trace(() => 'restart');
    this.alive = true;
    this.noticeLater();
  }

  pause(): void {
    this.trace(() => 'pause');
    this.paused = true;
  }

  resume(): void {
    this.trace(() => 'resume');
    this.paused = false;
    const { stash } = this;
    this.stash = [];
    for (const run of stash) run();
  }

  jump(by: number): void {
    this.skew += by;
    this.trace(() => `clock jumps by ${by}`);
    for (const host of [...this.hosts]) this.drive(host, { kind: 'changed' });
  }

  /** A partition is given to this process, or taken from it. */
  abstract assigned(partition: number): void;
  abstract revoked(partition: number): void;
  /** The topic that this process consumes grew. */
  abstract consume(): void;
  protected abstract finished(host: Host): void;
  protected abstract perform(
    host: Host,
    effect: Exclude<AnyEffect, { kind: 'read_to_end' | 'write' | 'lease' | 'release' | 'wake' | 'finished' }>,
  ): void;

  noticeLater(): void {
    if (!this.alive || this.noticing) return;
    this.noticing = true;
    this.world.later(this.world.chance.below(this.world.mix.readDelay), this, () => {
      this.noticing = false;
      this.read();
    });
  }

  private read(): void {
    const { log, chance, mix } = this.world;
    const backlog = log.length - this.position;
    const count = backlog > 1 && chance.chance(mix.partialReads) ? 1 + chance.below(backlog) : backlog;
    if (count === 0) return;
    const touched = new Set<string>();
    for (const end = this.position + count; this.position < end; this.position++) {
      const entry = log[this.position] as Entry;
      const view = this.view(entry.eval);
      const joining = this.world.rules.fold(view.live, entry);
      observe(view.state, entry, joining);
      touched.add(entry.ledger);
      if (entry.type === 'run_sealed') touched.add(entry.eval);
    }
    this.settle();
    for (const host of [...this.hosts]) {
      if (touched.has(host.evaluation) || (host.child !== null && touched.has(host.child)))
        this.drive(host, { kind: 'changed' });
    }
    this.afterRead();
    if (this.position < log.length) this.noticeLater();
  }

  protected afterRead(): void {}

  private settle(): void {
    for (const append of [...this.pending]) {
      const answer = this.answerTo(append);
      if (answer === null) continue;
      this.pending.splice(this.pending.indexOf(append), 1);
      this.tell(append.host, { kind: 'answered', answer });
    }
    for (const read of [...this.reads]) {
      if (this.position < read.target) continue;
      this.reads.splice(this.reads.indexOf(read), 1);
      this.tell(read.host, { kind: 'caught_up' });
    }
  }

  /** Rule 3. An append that ended its own ledger is confirmed: nobody else ended it. */
  private answerTo({ entries, session }: Pending): AppendAnswer | null {
    const last = entries[entries.length - 1] as Entry;
    const { live } = this.view(last.eval);
    const chain = chainOf(live, last.ledger);
    const next = entries.find((entry) => chain?.hashes[entry.seq] !== entry.hash);
    if (next !== undefined) return this.world.rules.joins(live, next) ? null : 'lost';
    const ended = last.type === 'run_sealed' || last.type === 'eval_closed' || last.type === 'eval_report';
    return ended || mayContinue(live, last.ledger, { key: this.key.id, session }) ? 'confirmed' : 'lost';
  }

  protected start(host: Host, effects: readonly AnyEffect[]): void {
    for (const effect of effects) this.execute(host, effect);
  }

  /** Forgets what was read of an evaluation and reads it again from a position of the log. */
  protected refold(evaluation: EvalRunId, from: number): void {
    this.views.delete(evaluation);
    const view = this.view(evaluation);
    for (const entry of this.world.log.slice(from, this.position)) {
      if (entry.eval === evaluation) observe(view.state, entry, this.world.rules.fold(view.live, entry));
    }
  }

  /** An answer takes its time, and meanwhile more is read: it may be old when it comes. */
  private tell(host: Host, event: RunEvent): void {
    const { chance, mix } = this.world;
    if (mix.slowAnswers && chance.chance(0.5))
      this.world.later(chance.below(mix.latency), this, () => this.drive(host, event));
    else this.drive(host, event);
  }

  drive(host: Host, event: RunEvent): void {
    if (host.over) return;
    for (const effect of host.step(event, this.view(host.evaluation), this.env)) this.execute(host, effect);
  }

  private execute(host: Host, effect: AnyEffect): void {
    const { world } = this;
    switch (effect.kind) {
      case 'read_to_end': {
        const read = { host, target: world.log.length };
        world.later(world.latency(), this, () => {
          if (this.position >= read.target) this.drive(host, { kind: 'caught_up' });
          else this.reads.push(read);
        });
        return;
      }
      case 'write':
        this.write(host, effect.ledger, effect.session, effect.drafts);
        return;
      case 'lease': {
        const { child } = effect;
        world.later(world.latency(), this, () => {
          const begun = chainOf(this.view(host.evaluation).live, child) !== null;
          const granted = world.holdLease(child, `${this.name}/${this.incarnation}`, world.mix.leaseMs, begun);
          world.later(world.latency(), this, () => this.drive(host, { kind: 'leased', granted }));
        });
        return;
      }
      case 'release': {
        const { child } = effect;
        world.releaseLease(child, `${this.name}/${this.incarnation}`);
        return;
      }
      case 'wake':
        this.wake(host, effect.at);
        return;
      case 'finished':
        this.trace(() => `${host.label} finished`);
        this.finished(host);
        return;
      default:
        this.perform(host, effect);
    }
  }

  /** One timer a host, as in the real shell: the earliest wake counts, later ones are forgotten, and a timer may go off a little early. */
  private wake(host: Host, at: number): void {
    const { chance, mix } = this.world;
    if (at >= host.wakeAt) return;
    host.wakeAt = at;
    const early = mix.earlyTimers && chance.chance(0.3) ? 1 : 0;
    const delay = Math.max(0, at - this.clock() - early);
    if (delay > 100_000) return;
    this.world.later(delay, this, () => {
      if (host.wakeAt !== at) return;
      host.wakeAt = Number.POSITIVE_INFINITY;
      this.drive(host, { kind: 'changed' });
    });
  }

  private write(host: Host, ledger: LedgerId, session: string, drafts: readonly Draft[]): void {
    const { live, state } = this.view(host.evaluation);
    const entries: Entry[] = [];
    const chain = chainOf(live, ledger);
    let seq = chain?.hashes.length ?? 0;
    let prev =
      chain !== null
        ? headOf(chain)
        : ledger === host.evaluation
          ? genesisHash(host.evaluation)
          : live.children.get(ledger as ChildRunId)?.requested;
    if (prev === undefined) throw new Error(`${host.label} writes a ledger that nobody asked for`);
    for (const draft of drafts) {
      const at = draft.type === 'eval_report' ? (state.closed?.at ?? '') : new Date(this.clock()).toISOString();
      const place: Place = { eval: host.evaluation, ledger, prev, seq, session, at };
      const { entry } = signDraftSync(draft, place, {
        keyId: this.key.id,
        role: this.key.role,
        sign: (message) => this.key.sign(message),
      });
      entries.push(entry);
      prev = entry.hash;
      seq++;
    }
    this.trace(
      () =>
        `${host.label} writes ${entries.map((entry) => `${entry.type}#${entry.seq}`).join(' ')} on ${ledger.slice(35)} as ${session.slice(0, 4)}`,
    );
    this.pending.push({ host, entries, session });
    this.outbox.push(entries);
    this.send();
  }

  /** One send in flight: the next goes out when this one is acknowledged. */
  private send(): void {
    const batch = this.outbox[0];
    if (batch === undefined || this.sending) return;
    this.sending = true;
    this.outbox.shift();
    const { world } = this;
    const { chance, mix } = world;
    const late = world.faulty && chance.chance(mix.late);
    const arrives = late ? chance.below(3 * mix.leaseMs) : world.latency();
    const { incarnation } = this;
    world.inFlight++;
    world.later(arrives, null, () => {
      world.inFlight--;
      if (this.incarnation !== incarnation && chance.chance(mix.lostAtCrash)) return;
      if (mix.conditional) this.landIfNext(batch);
      else this.land(batch);
    });
    world.later(arrives + world.latency(), this, () => {
      this.sending = false;
      this.send();
    });
  }

  private land(batch: readonly Entry[]): void {
    const { world } = this;
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
    const { world } = this;
    if (world.referee.wouldJoin(batch)) {
      for (const entry of batch) world.land(entry);
      return;
    }
    world.later(world.latency(), this, () => {
      const append = this.pending.find(({ entries }) => entries === batch);
      if (append === undefined) return;
      this.pending.splice(this.pending.indexOf(append), 1);
      // The refusal came from the log's end, so that end is in the view.
      while (this.position < world.log.length) this.read();
      this.drive(append.host, { kind: 'answered', answer: 'lost' });
    });
  }
}
