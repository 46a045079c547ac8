import { type Accepted, evaluationOf } from '#lib/evaluation';
import type { ChildRunId, EvalRunId } from '#lib/ledger';
import { Coordinator } from './coordinator.testkit.js';
import { AssignedConsumer } from './consumer.testkit.js';
import { checkEnd, outcomeOf } from './end.testkit.js';
import { Executor, partitionOf } from './executor.testkit.js';
import { GroupConsumer } from './group-consumer.testkit.js';
import { KEYS } from './keys.testkit.js';
import { drawMix, NO_FAULTS } from './mix.testkit.js';
import type { KafkaCluster } from './kafka-cluster.testkit.js';
import type { Process } from './process.testkit.js';
import { Projector } from './projector.testkit.js';
import { Chance } from './random.testkit.js';
import { type Invariant, Violation } from './referee.testkit.js';
import { type Rules, SOUND } from './rules.testkit.js';
import { requestOf, SCENARIOS } from './scenario.testkit.js';
import { EPOCH, type Group, World } from './world.testkit.js';

const NEVER = 1_000_000_000;
const GROUPS = { c: 'coordinators', x: 'executors', p: 'projectors' } as const;

export interface SeedResult {
  readonly seed: number;
  readonly violation: { readonly invariant: Invariant; readonly message: string; readonly error: Error } | null;
  readonly world: World;
}

export interface SeedOptions {
  readonly rules?: Rules;
  readonly trace?: boolean;
}

/** Whether the seed draws a world on Kafka. */
export function isOnKafka(seed: number): boolean {
  return drawMix(new Chance(seed)).kafka !== null;
}

/** Runs the world that a seed draws to its end. The same seed and rules give the same result, event for event. */
export function runSeed(seed: number, { rules = SOUND, trace = false }: SeedOptions = {}): SeedResult {
  const chance = new Chance(seed);
  const mix = drawMix(chance);
  const first = chance.below(SCENARIOS);
  const scenarios = Array.from({ length: mix.evaluations }, (_, i) => (first + i) % SCENARIOS);
  const world = new World(chance, mix, rules, trace);
  world.trace(() => `seed ${seed} scenarios ${scenarios.join()} ${JSON.stringify(mix)}`);
  let violation: SeedResult['violation'] = null;
  try {
    new Simulation(world, scenarios).run();
    checkEnd(world, faultFree);
  } catch (error) {
    if (error instanceof Violation) violation = { invariant: error.invariant, message: error.message, error };
    else {
      const cause = error instanceof Error ? error : new Error(String(error));
      violation = { invariant: 'core_threw', message: `core_threw: ${cause.message}`, error: cause };
    }
    world.trace(() => `VIOLATION ${violation?.message}`);
  }
  return { seed, violation, world };
}

const outcomes = new Map<number, string>();

/** What the scenario ends with where nothing goes wrong. */
export function faultFree(scenario: number): string {
  const known = outcomes.get(scenario);
  if (known !== undefined) return known;
  const world = new World(new Chance(1), NO_FAULTS, SOUND, false);
  new Simulation(world, [scenario]).run();
  const evaluation = evaluationOf(requestOf(scenario, NEVER));
  const outcome = outcomeOf(world.referee.truth(evaluation).state);
  outcomes.set(scenario, outcome);
  return outcome;
}

class Simulation {
  private readonly assignments = new Map<string, Process>();
  private requestsLeft = 0;

  constructor(
    private readonly world: World,
    private readonly scenarios: readonly number[],
  ) {
    const { mix, processes } = world;
    for (let i = 0; i < mix.coordinators; i++)
      processes.push(new Coordinator(`c${i + 1}`, at(KEYS.coordinators, i), world, GROUPS.c));
    for (let i = 0; i < mix.executors; i++)
      processes.push(new Executor(`x${i + 1}`, at(KEYS.executors, i), world, GROUPS.x));
    for (let i = 0; i < mix.projectors; i++)
      processes.push(new Projector(`p${i + 1}`, at(KEYS.projectors, i), world, GROUPS.p));
  }

  run(): void {
    const { world } = this;
    const { mix } = world;
    for (const process of world.processes) {
      if (mix.clockJumpEvery > 0) process.skew = world.chance.between(-500, 500);
    }
    if (world.kafka === null) {
      this.assign('coordinators', 0, this.someone('coordinators'));
      this.assign('projectors', 0, this.someone('projectors'));
      for (let partition = 0; partition < mix.commandPartitions; partition++)
        this.assign('executors', partition, this.someone('executors'));
    } else for (const process of world.processes) process.consumer.consume();
    for (const scenario of this.scenarios) this.request(scenario);
    this.schedule(mix.crashEvery, () => this.crashSomeone());
    this.schedule(mix.pauseEvery, () => this.pauseSomeone());
    this.schedule(mix.rebalanceEvery, () => this.rebalance());
    this.schedule(mix.leasesEmptiedEvery, () => this.emptyLeases());
    this.schedule(mix.clockJumpEvery, () => this.jumpClock());
    const { kafka } = world;
    if (kafka !== null) {
      const time = () => world.chance.below(world.chance.pick([2, 15]) * mix.leaseMs);
      this.schedule(kafka.mix.downEvery, () => kafka.goDown(time()));
    }
    const limit = mix.faultsUntil + 60_000;
    for (let i = 1; world.next(); i++) {
      if (i % 32 === 0 && !world.faulty && this.isOver()) return;
      if (world.now > limit || i > 400_000) break;
    }
    if (!this.isOver()) throw new Violation('never_ends', this.whatIsLeft());
  }

  /** Two intakes may both accept a request, each at its own time, and a repeat may come long after. */
  private request(scenario: number): void {
    const { chance, mix } = this.world;
    const deadline = mix.bigJumps ? 10_000_000 : NEVER;
    for (let i = 0; i < mix.requests; i++) {
      const conflicting = mix.conflict && i > 0 && chance.chance(0.6);
      this.accept(i === 0 ? chance.below(50) : chance.below(chance.pick([60, 5000])), () => {
        const request = requestOf(scenario, deadline, conflicting ? 1 : 0);
        return {
          kind: 'eval',
          eval_run_id: evaluationOf(request),
          accepted_at: EPOCH + this.world.now,
          from: this.world.kafka?.partition(this.world.partitionOf(evaluationOf(request))).length ?? 0,
          request,
        };
      });
    }
    const cancel = (name: string) => () =>
      ({ kind: 'cancel', eval_run_id: name, reason: 'asked for', accepted_at: EPOCH + this.world.now }) as const;
    if (mix.cancelAt !== null) this.accept(mix.cancelAt, cancel(evaluationOf(requestOf(scenario, deadline))));
    for (let i = 0; i < (mix.kafka?.strayCommands ?? 0); i++)
      this.strayCommand(evaluationOf(requestOf(scenario, deadline)), i);
    if (mix.strayCancel) this.accept(chance.below(1000), cancel(`ev_${'0'.repeat(32)}`));
  }

  /** Whoever may write to the topic may write anything. */
  private strayCommand(evaluation: EvalRunId, number: number): void {
    const { world } = this;
    const child = `${number === 0 ? evaluation : `ev_${'1'.repeat(32)}`}/c0.s9.r9.learn` as ChildRunId;
    this.requestsLeft++;
    world.later(world.chance.below(2000), null, () => {
      this.requestsLeft--;
      const partition = partitionOf(child, world.mix.commandPartitions);
      world.command(partition, { eval: child.slice(0, 35) as EvalRunId, child });
    });
  }

  private accept(delay: number, record: () => Accepted): void {
    const { world } = this;
    this.requestsLeft++;
    world.later(delay, null, () => {
      this.requestsLeft--;
      const accepted = record();
      world.trace(() => `ACCEPTED ${accepted.kind} ${accepted.eval_run_id.slice(3, 7)}`);
      const acceptance = { accepted, end: world.log.length };
      if (world.kafka === null) return world.accept(acceptance);
      // Until it stands on the topic, others may have written.
      world.inFlight++;
      world.later(world.latency(), null, () => {
        world.inFlight--;
        world.accept(acceptance);
      });
    });
  }

  private schedule(every: number, fault: () => void): void {
    const { world } = this;
    if (every === 0) return;
    world.later(world.chance.between(1, 2 * every), null, () => {
      if (!world.faulty) return;
      fault();
      this.schedule(every, fault);
    });
  }

  private someone(group: Group, besides?: Process): Process | null {
    const able = this.world.processes.filter(
      (process) => process.group === group && process.alive && !process.paused && process !== besides,
    );
    return able.length === 0 ? null : this.world.chance.pick(able);
  }

  private assign(group: Group, partition: number, process: Process | null): void {
    const { world } = this;
    const name = `${group}/${partition}`;
    if (process === null) {
      world.later(20, null, () => this.assign(group, partition, this.someone(group)));
      return;
    }
    const before = this.assignments.get(name);
    this.assignments.set(name, process);
    if (before !== undefined && before !== process) {
      world.later(world.chance.below(world.mix.handOver + 1), before, () => {
        if (this.assignments.get(name) !== before) assignedOf(before).revoked(partition);
      });
    }
    world.later(world.latency(), process, () => {
      if (this.assignments.get(name) === process) assignedOf(process).assigned(partition);
    });
  }

  private crashSomeone(): void {
    const { world } = this;
    const victim = world.chance.pick(world.processes);
    if (!victim.alive) return;
    victim.crash();
    world.later(world.chance.below(3 * world.mix.leaseMs), null, () => victim.restart());
    this.reassignAll(victim, world.chance.below(world.mix.leaseMs));
  }

  private reassignAll(victim: Process, delay: number): void {
    this.world.later(delay, null, () => {
      for (const [name, process] of this.assignments) {
        if (process !== victim) continue;
        const [group, partition] = name.split('/') as [Group, string];
        this.assign(group, Number(partition), this.someone(group));
      }
    });
  }

  private pauseSomeone(): void {
    const { world } = this;
    const victim = world.chance.pick(world.processes);
    if (!victim.alive || victim.paused) return;
    victim.pause();
    const { incarnation } = victim;
    world.later(world.chance.below(4 * world.mix.leaseMs), null, () => {
      if (victim.alive && victim.paused && victim.incarnation === incarnation) victim.resume();
    });
    if (world.chance.chance(0.6)) this.reassignAll(victim, world.chance.below(world.mix.leaseMs));
  }

  private rebalance(): void {
    const { world } = this;
    if (world.kafka !== null) return this.disturbGroup(world.kafka);
    const name = world.chance.pick([...this.assignments.keys()]);
    const [group, partition] = name.split('/') as [Group, string];
    world.trace(() => `REBALANCE ${name}`);
    this.assign(group, Number(partition), this.someone(group, this.assignments.get(name)) ?? this.someone(group));
  }

  /** A group begins anew, a member loses its connection, or a service is scaled down for a while. */
  private disturbGroup(kafka: KafkaCluster): void {
    const { world } = this;
    const { chance } = world;
    const victim = chance.pick(world.processes);
    if (!victim.alive || victim.paused || !(victim.consumer instanceof GroupConsumer)) return;
    world.trace(() => `REBALANCE ${victim.group}`);
    const what = chance.below(3);
    if (what === 0) kafka.group(victim.group).rebalance();
    else if (what === 1) victim.consumer.leave();
    else {
      if (victim instanceof Executor) victim.handBack();
      victim.consumer.leave();
      victim.crash();
      world.later(chance.below(10 * world.mix.leaseMs), null, () => victim.restart());
    }
  }

  private emptyLeases(): void {
    this.world.trace(() => 'LEASES EMPTIED');
    this.world.leaseStore.empty();
  }

  private jumpClock(): void {
    const { world } = this;
    const victim = world.chance.pick(world.processes);
    if (victim.alive && !victim.paused)
      victim.jump(world.mix.bigJumps ? 20_000_000 : world.chance.between(1, 3 * world.mix.leaseMs));
  }

  private isOver(): boolean {
    const { world } = this;
    if (this.requestsLeft > 0 || world.inFlight > 0) return false;
    const { accepted, commands } = world;
    for (const [partition, { length }] of accepted.entries()) {
      if (world.committedOf('coordinators', partition) < length) return false;
      if (world.committedOf('projectors', partition) < length) return false;
    }
    return commands.every((topic, partition) => world.committedOf('executors', partition) === topic.length);
  }

  private whatIsLeft(): string {
    const { world } = this;
    const open = [...world.referee.truths].map(
      ([id, { state }]) => `${id} ${state.closed?.body.outcome ?? 'open'} with ${state.anchors} anchors`,
    );
    const groups = [...world.committed].map(([name, offset]) => `${name} at ${offset}`);
    return `at ${world.now} after ${world.happened} events: ${[...open, ...groups].join(', ')}; ${world.accepted.map((topic) => topic.length).join('+')} acceptances, ${world.commands.map((topic) => topic.length).join('+')} commands`;
  }
}

function assignedOf({ consumer }: Process): AssignedConsumer {
  if (!(consumer instanceof AssignedConsumer)) throw new Error('partitions are given by the group');
  return consumer;
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError(`no item ${index}`);
  return item;
}
