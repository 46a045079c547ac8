import type { EvaluationView } from '#lib/evaluation';
import {
  chainOf,
  type ChildRunId,
  type Draft,
  type Entry,
  type EvalRunId,
  genesisHash,
  headOf,
  type LedgerId,
  type Place,
  signDraftSync,
} from '#lib/ledger';
import type { CoreEnv } from '../effects.js';
import type { OwnerEffect } from '../owner.js';
import type { ProjectionEffect } from '../projection.js';
import type { RunEffect, RunEvent } from '../run.js';
import { AssignedConsumer, type Consumer, type Taken } from './consumer.testkit.js';
import { GroupConsumer } from './group-consumer.testkit.js';
import { KafkaLog } from './kafka-log.testkit.js';
import type { SimulatedKey } from './keys.testkit.js';
import type { LogClient } from './log-client.testkit.js';
import { OneLog } from './one-log.testkit.js';
import { EPOCH, type Group, type World } from './world.testkit.js';

export type AnyEffect = OwnerEffect | RunEffect | ProjectionEffect;

/** A core at work in a process. */
export interface Host {
  readonly evaluation: EvalRunId;
  readonly child: ChildRunId | null;
  readonly label: string;
  begin(): AnyEffect[];
  step(event: RunEvent, view: EvaluationView, env: CoreEnv): AnyEffect[];
  /** Its view was asked for, and is there. */
  opened: boolean;
  begun: boolean;
  over: boolean;
  wakeAt: number;
}

/** A process: it reads the log at its own pace, hosts cores, and does for them what they want done. */
export abstract class Process {
  alive = true;
  paused = false;
  pauses = 0;
  incarnation = 0;
  /** How far its clock is ahead of the world's. */
  skew = 0;
  stash: (() => void)[] = [];
  hosts: Host[] = [];
  readonly log: LogClient;
  readonly consumer: Consumer;
  readonly env: CoreEnv;

  constructor(
    readonly name: string,
    readonly key: SimulatedKey,
    readonly world: World,
    readonly group: Group,
  ) {
    const clock = () => this.clock();
    const { chance, kafka } = world;
    this.env = {
      get now() {
        return clock();
      },
      random128: () => chance.hex128(),
      below: (bound) => chance.below(bound),
    };
    this.log = kafka === null ? new OneLog(this) : new KafkaLog(this, kafka);
    this.consumer = kafka === null ? new AssignedConsumer(this) : new GroupConsumer(this, kafka.group(group));
  }

  /** Of the process that lives now: another one after each restart. */
  get holder(): string {
    return `${this.name}/${this.incarnation}`;
  }

  clock(): number {
    return EPOCH + this.world.now + this.skew;
  }

  trace(line: () => string): void {
    this.world.trace(() => `${this.name} ${line()}`);
  }

  view(evaluation: EvalRunId): EvaluationView {
    return this.log.view(evaluation);
  }

  crash(): void {
    this.trace(() => 'CRASH');
    this.alive = false;
    this.paused = false;
    this.incarnation++;
    this.stash = [];
    for (const host of this.hosts) host.over = true;
    this.hosts = [];
    this.log.reset();
    this.consumer.reset();
  }

  restart(): void {
    this.trace(() => 'restart');
    this.alive = true;
    this.log.notice();
    this.consumer.consume();
  }

  pause(): void {
    this.trace(() => 'pause');
    this.paused = true;
    this.pauses++;
    this.consumer.paused();
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

  /** A record of the topic that this process consumes, once while the partition is its own. */
  abstract take(taken: Taken): void;
  /** Partitions that are another's from now on. */
  abstract lost(partitions: readonly number[]): void;
  protected abstract finished(host: Host): void;
  protected abstract perform(
    host: Host,
    effect: Exclude<AnyEffect, { kind: 'read_to_end' | 'write' | 'wake' | 'finished' }>,
  ): void;

  /** These ledgers grew. */
  changed(ledgers: ReadonlySet<string>): void {
    for (const host of [...this.hosts]) {
      if (ledgers.has(host.evaluation) || (host.child !== null && ledgers.has(host.child)))
        this.drive(host, { kind: 'changed' });
    }
    this.afterRead();
  }

  protected afterRead(): void {}

  /** The core begins when its view is there. */
  protected host(host: Host, ready: () => void = () => {}): void {
    if (host.over) return;
    this.hosts.push(host);
    host.opened = true;
    this.log.open(host.evaluation, () => {
      if (host.over) return;
      host.begun = true;
      ready();
      for (const effect of host.begin()) this.execute(host, effect);
      this.drive(host, { kind: 'changed' });
    });
  }

  /** Nothing more is asked of the core. */
  protected stop(host: Host): void {
    if (host.over) return;
    host.over = true;
    this.hosts = this.hosts.filter((other) => other !== host);
  }

  /** Its view is used no more. */
  protected closeView(host: Host): void {
    if (host.opened) this.log.close(host.evaluation);
    host.opened = false;
  }

  /** An answer takes its time, and meanwhile more is read: it may be old when it comes. */
  private tell(host: Host, event: RunEvent): void {
    const { chance, mix } = this.world;
    if (mix.slowAnswers && chance.chance(0.5))
      this.world.later(chance.below(mix.latency), this, () => this.drive(host, event));
    else this.drive(host, event);
  }

  drive(host: Host, event: RunEvent): void {
    if (host.over || !host.begun) return;
    for (const effect of host.step(event, this.view(host.evaluation), this.env)) this.execute(host, effect);
  }

  private execute(host: Host, effect: AnyEffect): void {
    if (host.over) return;
    switch (effect.kind) {
      case 'read_to_end':
        this.log.readToEnd(host.evaluation, () => this.tell(host, { kind: 'caught_up' }));
        return;
      case 'write':
        this.write(host, effect.ledger, effect.session, effect.drafts);
        return;
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
    this.log.append(entries, session, (answer) => this.tell(host, { kind: 'answered', answer }));
  }
}
