import { type Accepted, type EvalAccepted, requestDigest } from '#lib/evaluation';
import type { EvalRunId } from '#lib/ledger';
import type { OwnerCore } from '../owner.js';
import { AcceptedReader, type HostedEvaluation } from './accepted.testkit.js';
import { STORE_REF } from './keys.testkit.js';
import type { AnyEffect } from './process.testkit.js';
import { SOFTWARE } from './scenario.testkit.js';
import { partitionOf } from './executor.testkit.js';
import type { World } from './world.testkit.js';

interface OwnedEvaluation extends HostedEvaluation<OwnerCore> {
  readonly digest: string;
}

/** A coordinator: it owns the partition of `eval.accepted`, or believes so, and hosts an owner's core for each evaluation. */
export class Coordinator extends AcceptedReader<OwnerCore, OwnedEvaluation> {
  /** Records that wait: for the evaluation that they cancel, or for the ledger that says which of two contents counts. */
  private held: { readonly position: number; readonly accepted: Accepted; readonly until: number }[] = [];

  protected override letGo(): void {
    super.letGo();
    this.held = [];
  }

  protected take(position: number, { accepted, end }: World['accepted'][number]): void {
    if (this.world.rules.trustsPositions && !this.owned.has(accepted.eval_run_id as EvalRunId)) {
      this.refold(accepted.eval_run_id as EvalRunId, end);
    }
    const until = this.clock() + 5 * this.world.mix.leaseMs;
    if (!this.tryTake(position, accepted)) {
      this.held.push({ position, accepted, until });
      this.world.later(5 * this.world.mix.leaseMs, this, () => this.afterRead());
    }
  }

  /** False where it is too early to say. */
  private tryTake(position: number, accepted: Accepted): boolean {
    const known = this.owned.get(accepted.eval_run_id as EvalRunId);
    if (accepted.kind === 'cancel') {
      if (known === undefined) return false;
      if (!known.done) known.core.cancel(accepted.reason);
      this.attach(position, known);
      this.drive(known, { kind: 'changed' });
      return true;
    }
    if (known === undefined) {
      this.begin(position, accepted);
      return true;
    }
    const digest = requestDigest(accepted.request);
    const { started } = this.view(known.evaluation).state;
    const counts = started?.body.request_digest ?? known.digest;
    if (counts === digest) this.attach(position, known);
    else if (started === null) return false;
    else this.refuse(position, 'request_conflict');
    return true;
  }

  private begin(position: number, accepted: EvalAccepted): void {
    const { rules, mix } = this.world;
    const evaluation = accepted.eval_run_id as EvalRunId;
    const core = new rules.owner(evaluation, {
      accepted,
      key: this.key.id,
      trustStore: STORE_REF,
      software: SOFTWARE,
      leaseMs: mix.leaseMs,
      starting: [],
    });
    this.host({ ...this.hosted(core, evaluation, 'owner', position), digest: requestDigest(accepted.request) });
  }

  protected override afterRead(): void {
    for (const record of [...this.held]) {
      const late = this.clock() >= record.until;
      const over = this.view(record.accepted.eval_run_id as EvalRunId).state.closed !== null;
      const taken = this.tryTake(record.position, record.accepted);
      if (!taken && !late && !over) continue;
      this.held.splice(this.held.indexOf(record), 1);
      if (!taken && record.accepted.kind === 'cancel') {
        if (over) this.finishRecords([record.position]);
        else this.refuse(record.position, 'cancel_of_nothing');
      } else if (!taken) this.held.push({ ...record, until: Number.POSITIVE_INFINITY });
    }
  }

  private refuse(position: number, code: string): void {
    this.trace(() => `refuses ${position}: ${code}`);
    this.world.deadLetters.push(code);
    this.world.referee.settled.add(position);
    this.finishRecords([position]);
  }

  protected finished(host: OwnedEvaluation): void {
    host.done = true;
    this.finishRecords(host.positions.splice(0));
  }

  protected perform(host: OwnedEvaluation, effect: AnyEffect): void {
    const { world } = this;
    switch (effect.kind) {
      case 'refused':
        for (const position of host.positions) world.referee.settled.add(position);
        world.deadLetters.push(effect.code);
        return;
      case 'send': {
        const { child } = effect;
        this.trace(() => `commands ${child.slice(35)}`);
        world.referee.commanded(this.view(host.evaluation), child, {
          key: this.key.id,
          session: host.core.state.session ?? '',
        });
        const copies = world.faulty && world.chance.chance(world.mix.commandTwice) ? 2 : 1;
        const { incarnation } = this;
        for (let copy = 0; copy < copies; copy++) {
          world.inFlight++;
          world.later(world.latency(), null, () => {
            world.inFlight--;
            if (this.incarnation !== incarnation && world.chance.chance(world.mix.lostAtCrash)) return;
            const partition = partitionOf(child, world.mix.commandPartitions);
            world.commands[partition]?.push({ eval: host.evaluation, child });
            for (const process of world.processes)
              if (process.alive && process.group === 'executors') process.consume();
          });
        }
        return;
      }
      default:
        throw new Error(`a coordinator does not ${effect.kind}`);
    }
  }
}
