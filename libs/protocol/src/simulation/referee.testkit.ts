import type { Action } from '#lib/child-run';
import { type EvaluationState, type EvaluationView, initialState, observe, requestDigest } from '#lib/evaluation';
import {
  chainOf,
  type ChildRunId,
  emptyChains,
  type Entry,
  type EvalRunId,
  fold,
  headOf,
  joins,
  type LedgerId,
  type LedgerRef,
  type LiveChains,
  mayContinue,
  sameWriter,
  type Writer,
} from '#lib/ledger';
import { actionName, isDone } from './work.testkit.js';
import type { AcceptedRecord, Command, Group, World } from './world.testkit.js';

export type Invariant =
  | 'displaced_effect'
  | 'unconfirmed_effect'
  | 'late_effects'
  | 'repeated_action'
  | 'equivocation'
  | 'offset_past_unfinished'
  | 'offset_moved_back'
  | 'reads_from_behind'
  | 'lease_of_the_living'
  | 'wrongly_refused'
  | 'report_not_in_the_log'
  | 'one_anchor_each'
  | 'anchor_mismatch'
  | 'one_report'
  | 'outcome_differs'
  | 'views_differ'
  | 'not_valid'
  | 'core_threw'
  | 'never_ends';

export class Violation extends Error {
  override readonly name = 'Violation';
  constructor(
    readonly invariant: Invariant,
    message: string,
    options?: ErrorOptions,
  ) {
    super(`${invariant}: ${message}`, options);
  }
}

export interface Truth {
  readonly live: LiveChains;
  readonly state: EvaluationState;
}

/** Watches from outside: it folds the true log with the true rules and judges every effect by it, whatever the processes go by. */
export class Referee {
  readonly truths = new Map<EvalRunId, Truth>();
  /** Every (ledger, writer) that ever was a ledger's writer, with how many actions it started after its displacement. */
  private readonly writers = new Map<string, number>();
  private readonly places = new Map<string, string>();
  private readonly started = new Set<string>();
  /** Acceptances and commands that were refused, and cancels that nobody waits for any more. */
  readonly settled = new Set<AcceptedRecord | Command>();
  /** By evaluation: the first position of its partition that is its own, and the furthest from which somebody began to read it. */
  private readonly begins = new Map<string, { first: number | null; read: number }>();

  constructor(private readonly world: World) {}

  truth(evaluation: EvalRunId): Truth {
    let truth = this.truths.get(evaluation);
    if (truth === undefined) {
      truth = { live: emptyChains(evaluation), state: initialState(evaluation) };
      this.truths.set(evaluation, truth);
    }
    return truth;
  }

  wouldJoin([first]: readonly Entry[]): boolean {
    return first !== undefined && joins(this.truth(first.eval).live, first);
  }

  landed(entry: Entry): void {
    const { live, state } = this.truth(entry.eval);
    const { kafka } = this.world;
    const begin = this.beginOf(entry.eval);
    if (kafka !== null && begin.first === null) {
      begin.first = kafka.partition(kafka.partitionOf(entry.eval)).length - 1;
      this.readsFrom(entry.eval, begin.read);
    }
    const joining = fold(live, entry);
    observe(state, entry, joining);
    this.world.trace(
      () =>
        `LOG ${joining} ${entry.type}#${entry.seq} on ${entry.ledger.slice(35)} as ${entry.session.slice(0, 4)} ${entry.hash.slice(0, 6)}`,
    );
    if (joining === 'joined') {
      const writer = writerKey(entry.ledger, entry);
      if (!this.writers.has(writer)) this.writers.set(writer, 0);
    }
    const place = `${entry.ledger} ${entry.seq} ${entry.key} ${entry.session}`;
    const before = this.places.get(place);
    if (before !== undefined && before !== entry.hash) {
      throw new Violation(
        'equivocation',
        `two entries at ${entry.ledger}#${entry.seq} by one writer, the second a ${entry.type}`,
      );
    }
    this.places.set(place, entry.hash);
  }

  /** An action starts, by a writer that goes by its own view. */
  acted(view: EvaluationView, child: ChildRunId, writer: Writer, action: Action): void {
    const name = `${actionName(action)} of ${child}`;
    this.byLiveWriter(view, child, writer, name);
    const truth = this.truth(view.live.eval);
    const key = `${child} ${writer.session} ${actionName(action)}`;
    if (this.started.has(key)) throw new Violation('repeated_action', `${name} was started twice in one session`);
    this.started.add(key);
    const chain = chainOf(truth.live, child);
    if (chain !== null && sameWriter(chain.writer, writer)) {
      const run = truth.state.children.get(child)?.run;
      if (run != null && isDone(action, run))
        throw new Violation('repeated_action', `${name} stands in the ledger and was started again`);
      return;
    }
    const late = (this.writers.get(writerKey(child, writer)) ?? 0) + 1;
    this.writers.set(writerKey(child, writer), late);
    if (late > 1) throw new Violation('late_effects', `${name} is the second action of a writer that was displaced`);
  }

  commanded(view: EvaluationView, child: ChildRunId, writer: Writer): void {
    this.byLiveWriter(view, view.live.eval, writer, `the command of ${child}`);
    if (!this.truth(view.live.eval).live.children.has(child)) {
      throw new Violation('unconfirmed_effect', `${child} was commanded and is not requested on the live chain`);
    }
  }

  /** Rule 3: the writer's own view lets it go on, and what it rests on stands on the true live chain. */
  private byLiveWriter(view: EvaluationView, ledger: LedgerId, writer: Writer, what: string): void {
    if (!mayContinue(view.live, ledger, writer))
      throw new Violation('displaced_effect', `${what}, by a writer that has read of its end`);
    const seen = chainOf(view.live, ledger);
    const chain = chainOf(this.truth(view.live.eval).live, ledger);
    if (
      seen === null ||
      chain === null ||
      chain.hashes[seen.hashes.length - 1] !== headOf(seen) ||
      !this.writers.has(writerKey(ledger, writer))
    ) {
      throw new Violation('unconfirmed_effect', `${what} rests on an entry that is not on the live chain`);
    }
  }

  published(evaluation: EvalRunId, ref: LedgerRef): void {
    const { report } = this.truth(evaluation).state;
    if (report?.ref !== ref)
      throw new Violation('report_not_in_the_log', `${ref} was published and is not the report of ${evaluation}`);
  }

  private beginOf(evaluation: EvalRunId): { first: number | null; read: number } {
    const begin = this.begins.get(evaluation) ?? { first: null, read: 0 };
    this.begins.set(evaluation, begin);
    return begin;
  }

  /** Nobody folds an evaluation from behind its beginning. */
  readsFrom(evaluation: EvalRunId, from: number): void {
    const begin = this.beginOf(evaluation);
    begin.read = Math.max(begin.read, from);
    if (begin.first !== null && begin.read > begin.first)
      throw new Violation('reads_from_behind', `${evaluation} begins at ${begin.first} and is read from ${begin.read}`);
  }

  /** A record of `eval.accepted` goes to the dead letters. */
  refused(record: AcceptedRecord, code: string): void {
    this.settled.add(record);
    const { accepted } = record;
    if (accepted.kind === 'cancel' || code !== 'request_conflict') return;
    const { started } = this.truth(accepted.eval_run_id as EvalRunId).state;
    if (started === null || started.body.request_digest === requestDigest(accepted.request))
      throw new Violation('wrongly_refused', `${accepted.eval_run_id} was asked for as it began, and refused`);
  }

  refusedCommand(command: Command): void {
    this.settled.add(command);
    if (this.truths.get(command.eval)?.live.children.has(command.child) === true)
      throw new Violation('wrongly_refused', `the command of ${command.child}, which is requested`);
  }

  /** A group takes an offset. */
  committed(group: Group, partition: number, offset: number): void {
    this.offset(group, partition, offset);
    const before = this.world.committedOf(group, partition);
    if (offset < before) throw new Violation('offset_moved_back', `${group} ${partition}: from ${before} to ${offset}`);
  }

  /** Everything below the offset must be finished when it is committed. */
  offset(group: Group, partition: number, offset: number): void {
    const from = this.world.committedOf(group, partition);
    for (let position = from; position < offset; position++) {
      const unfinished =
        group === 'executors' ? this.openCommand(partition, position) : this.openAcceptance(group, partition, position);
      if (unfinished !== null)
        throw new Violation(
          'offset_past_unfinished',
          `${group} ${partition}: ${offset} passes ${position}: ${unfinished}`,
        );
    }
  }

  private openCommand(partition: number, position: number): string | null {
    const command = this.world.commands[partition]?.[position];
    if (command === undefined) return 'no such record';
    if (this.settled.has(command)) return null;
    const live = this.truths.get(command.eval)?.live;
    const child = live?.children.get(command.child);
    return (live !== undefined && live.closed !== null) || child?.sealed === true || child?.anchored === true
      ? null
      : `${command.child} is not sealed`;
  }

  private openAcceptance(group: Group, partition: number, position: number): string | null {
    const record = this.world.accepted[partition]?.[position];
    if (record === undefined) return 'no such record';
    if (this.settled.has(record) || (group === 'projectors' && record.accepted.kind === 'cancel')) return null;
    const evaluation = record.accepted.eval_run_id as EvalRunId;
    const { closed, report } = this.truth(evaluation).state;
    if (closed === null) return `${evaluation} is open`;
    if (group === 'coordinators' || closed.body.outcome !== 'complete') return null;
    if (report === null) return `${evaluation} has no report`;
    return this.world.reports.some((published) => published.eval === evaluation)
      ? null
      : `the report of ${evaluation} is not published`;
  }
}

function writerKey(ledger: LedgerId, { key, session }: Writer): string {
  return `${ledger} ${key} ${session}`;
}
