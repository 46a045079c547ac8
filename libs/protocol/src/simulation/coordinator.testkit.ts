import { type EvalAccepted, requestDigest } from '#lib/evaluation';
import type { EvalRunId } from '#lib/ledger';
import type { OwnerCore } from '../owner.js';
import { AcceptedReader, type HostedEvaluation } from './accepted.testkit.js';
import type { Taken } from './consumer.testkit.js';
import { partitionOf } from './executor.testkit.js';
import { STORE_REF } from './keys.testkit.js';
import { OneLog } from './one-log.testkit.js';
import type { AnyEffect } from './process.testkit.js';
import { Violation } from './referee.testkit.js';
import { SOFTWARE } from './scenario.testkit.js';
import type { AcceptedRecord } from './world.testkit.js';

interface OwnedEvaluation extends HostedEvaluation<OwnerCore> {
  readonly digest: string;
  /** Where `eval.index` says that it begins. */
  from: number;
  refusing: boolean;
}

/** A coordinator: it owns partitions of `eval.accepted`, or believes so, and hosts an owner's core for each evaluation. */
export class Coordinator extends AcceptedReader<OwnerCore, OwnedEvaluation> {
  /** Records that wait: for the evaluation that they cancel, or for the ledger that says which of two contents counts. */
  private held: { readonly taken: Taken; readonly record: AcceptedRecord; readonly until: number }[] = [];

  override crash(): void {
    super.crash();
    this.held = [];
  }

  override lost(partitions: readonly number[]): void {
    super.lost(partitions);
    this.held = this.held.filter(({ taken }) => !partitions.includes(taken.partition));
  }

  protected takeRecord(taken: Taken, record: AcceptedRecord): void {
    const { world, log } = this;
    const evaluation = record.accepted.eval_run_id as EvalRunId;
    if (world.rules.trustsPositions && log instanceof OneLog && !this.owned.has(evaluation)) {
      log.refold(evaluation, record.end);
    }
    if (this.tryTake(taken, record)) return;
    const patience = 5 * world.mix.leaseMs;
    this.held.push({ taken, record, until: this.clock() + patience });
    world.later(patience + 1, this, () => this.afterRead());
  }

  /** False where it is too early to say. */
  private tryTake(taken: Taken, record: AcceptedRecord): boolean {
    const { accepted } = record;
    const known = this.owned.get(accepted.eval_run_id as EvalRunId);
    if (accepted.kind === 'cancel') {
      if (known === undefined) return false;
      known.core.cancel(accepted.reason);
      known.records.push(taken);
      this.drive(known, { kind: 'changed' });
      return true;
    }
    if (known === undefined) {
      this.own(taken, record, accepted);
      return true;
    }
    const digest = requestDigest(accepted.request);
    if (this.world.rules.comparesWithTheFirst && known.digest !== digest) {
      this.refuse(taken, record, 'request_conflict');
      return true;
    }
    const started = known.begun ? this.view(known.evaluation).state.started : null;
    const counts = started?.body.request_digest ?? (known.digest === digest ? digest : null);
    if (counts === digest) known.records.push(taken);
    else if (counts === null) return false;
    else this.refuse(taken, record, 'request_conflict');
    return true;
  }

  private own(taken: Taken, record: AcceptedRecord, accepted: EvalAccepted): void {
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
    const hosted: OwnedEvaluation = {
      ...this.hosted(core, evaluation, 'owner', taken, record),
      digest: requestDigest(accepted.request),
      from: accepted.from,
      refusing: false,
    };
    this.owned.set(evaluation, hosted);
    this.index(hosted, () => this.host(hosted, () => this.afterRead()));
  }

  /** Where the evaluation begins, which `eval.index` says before anything of it is written. */
  private index(hosted: OwnedEvaluation, indexed: () => void): void {
    const { world, log } = this;
    const { evaluation } = hosted;
    const end = log.endFor(evaluation);
    log.beginningOf(evaluation, (known) => {
      // What an acceptance says counts for nothing: a repeat of it comes long after the beginning.
      if (!world.rules.laterBeginningsCount) hosted.from = known ?? end;
      if (hosted.from === known) indexed();
      else this.publishIndex(hosted, indexed);
    });
  }

  private publishIndex({ evaluation, from }: OwnedEvaluation, done: () => void): void {
    const { kafka } = this.world;
    if (kafka === null) done();
    else this.log.publish('eval.index/0', () => kafka.index(evaluation, from), done);
  }

  protected override afterRead(): void {
    for (const held of [...this.held]) {
      const { taken, record, until } = held;
      if (!this.held.includes(held)) continue;
      const late = this.clock() >= until;
      if (this.tryTake(taken, record)) this.held.splice(this.held.indexOf(held), 1);
      else if (late && record.accepted.kind === 'cancel') {
        this.held.splice(this.held.indexOf(held), 1);
        this.refuse(taken, record, 'cancel_of_nothing');
      }
    }
  }

  private refuse(taken: Taken, record: AcceptedRecord, code: string): void {
    this.trace(() => `refuses ${taken.position}: ${code}`);
    this.world.referee.refused(record, code);
    this.log.publish(
      'eval.dead-letter/0',
      () => this.world.deadLetters.push(code),
      () => this.consumer.finish([taken]),
    );
  }

  /** `eval.index` has the evaluation's end before the offset passes its acceptance. */
  protected finished(hosted: OwnedEvaluation): void {
    this.stop(hosted);
    const indexed = () => {
      this.release(hosted);
      this.afterRead();
    };
    const settled = () => this.publishIndex(hosted, indexed);
    if (!hosted.refusing) return settled();
    this.log.publish('eval.dead-letter/0', () => this.world.deadLetters.push('request_conflict'), settled);
  }

  protected perform(hosted: OwnedEvaluation, effect: AnyEffect): void {
    const { world } = this;
    switch (effect.kind) {
      case 'refused':
        hosted.refusing = true;
        for (const { partition, position } of hosted.records)
          world.referee.refused(world.accepted[partition]?.[position] as AcceptedRecord, effect.code);
        return;
      case 'send': {
        const { child } = effect;
        const command = { eval: hosted.evaluation, child };
        if (this.owned.get(hosted.evaluation) !== hosted)
          throw new Violation('displaced_effect', `the command of ${child}, by an owner that gave the evaluation up`);
        this.trace(() => `commands ${child.slice(35)}`);
        const writer = { key: this.key.id, session: hosted.core.state.session ?? '' };
        world.referee.commanded(this.view(hosted.evaluation), child, writer);
        const partition = partitionOf(child, world.mix.commandPartitions);
        this.log.publish(`eval.child-run.commands/${partition}`, () => world.command(partition, command));
        return;
      }
      default:
        throw new Error(`a coordinator does not ${effect.kind}`);
    }
  }
}
