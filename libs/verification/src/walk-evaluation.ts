import {
  type ChildRecord,
  evolve,
  type EvaluationState,
  initialState,
  isPlanned,
  places,
  planOf,
  type EvalReport,
} from '#lib/evaluation';
import {
  type ChildRunId,
  type Entry,
  type EntryHash,
  type EntryOf,
  genesisHash,
  type KeyId,
  type LedgerRef,
  parseChildRunId,
} from '#lib/ledger';
import { childAt } from '#lib/evaluation';
import { readForwards } from './chain.js';
import { checkAnchor, readAnchored } from './check-anchor.js';
import { LinkCheck } from './check-links.js';
import { checkPlan } from './check-plan.js';
import { checkReport } from './check-report.js';
import { checkRequest } from './check-request.js';
import { checkRun } from './check-run.js';
import type { Context } from './context.js';
import type { Stored } from './entry-index.js';
import { readParent } from './parent-chain.js';
import { readPinnedKeys } from './pinned-keys.js';
import { checkStartingLessons, type KnownLesson } from './starting-lessons.js';

export interface Walked {
  readonly state: EvaluationState;
  readonly onChain: ReadonlySet<EntryHash>;
  /** Of each key that signed an entry of a chain, the first such entry. */
  readonly signed: ReadonlyMap<KeyId, Stored>;
  /** Hashes of the evaluation's own chain, by seq. */
  readonly parent: readonly EntryHash[];
  readonly parentWhole: boolean;
  readonly report: EvalReport | null;
  /** Ids of the keys that this evaluation trusts; `null` where its trust store is not at hand. */
  readonly pinnedKeys: ReadonlySet<string> | null;
}

/** Follows the evaluation's own chain entry by entry, and each child's where its anchor stands: the order in which everything came to rest on everything. */
export class EvaluationWalk {
  readonly #state: EvaluationState;
  readonly #onChain = new Set<EntryHash>();
  readonly #signed = new Map<KeyId, Stored>();
  readonly #links: LinkCheck;
  readonly #known = new Map<LedgerRef, KnownLesson>();
  /** Children of which nothing further can be derived; a finding says why. */
  readonly #unsound = new Set<ChildRunId>();
  #starting: readonly KnownLesson[] = [];
  #pinned: ReadonlySet<string> | null = null;
  #usable = true;
  #report: EvalReport | null = null;

  /** @param settles whether the entries of a run are forgotten once it is checked */
  constructor(
    private readonly context: Context,
    private readonly settles = false,
  ) {
    this.#state = initialState(context.evaluation);
    this.#links = new LinkCheck(context, 'evaluation', genesisHash(context.evaluation));
  }

  /** Walks all that was read. */
  async run(): Promise<Walked> {
    const parent = readParent(this.context);
    this.#join(parent.entries);
    this.#usable = parent.whole;
    for (const stored of parent.entries) {
      const isLinked = !parent.whole || this.#links.next(stored);
      await this.#take(stored, isLinked);
    }
    return this.finish(parent.entries.map(({ hash }) => hash));
  }

  /** Takes the next entry of the evaluation's own chain in and forgets it, for a reader that meets them one by one and notices when one comes again. */
  async next(stored: Stored): Promise<void> {
    this.#join([stored]);
    await this.#take(stored, this.#links.next(stored));
    this.context.index.forget(stored);
    this.#onChain.delete(stored.hash);
  }

  async finish(parent: readonly EntryHash[]): Promise<Walked> {
    if (this.#usable) await this.#openChildren();
    return {
      state: this.#state,
      onChain: this.#onChain,
      signed: this.#signed,
      parent,
      parentWhole: this.#usable,
      report: this.#report,
      pinnedKeys: this.#pinned,
    };
  }

  async #take(stored: Stored, isLinked: boolean): Promise<void> {
    if (!isLinked) this.#usable = false;
    const typed = await this.context.bodies.read(stored);
    if (typed.kind !== 'entry') this.#usable = false;
    else if (this.#usable) await this.#step(stored, typed.entry);
  }

  #join(entries: readonly Stored[]): void {
    for (const entry of entries) {
      this.#onChain.add(entry.hash);
      if (!this.#signed.has(entry.key)) this.#signed.set(entry.key, entry);
    }
  }

  /** What was superseded of a run is judged at the end, beside the rest of it; a run of which nothing was is done with. */
  #settle(id: ChildRunId, chain: readonly Stored[]): void {
    if (this.context.index.ledger(id).length !== chain.length) return;
    this.context.index.settle(id);
    for (const { hash } of chain) this.#onChain.delete(hash);
  }

  async #step(stored: Stored, entry: Entry): Promise<void> {
    const { context } = this;
    const state = this.#state;
    switch (entry.type) {
      case 'eval_started':
        this.#usable = checkPlan(context, stored, entry);
        if (!this.#usable) return;
        this.#starting = await checkStartingLessons(context, stored, entry);
        for (const held of this.#starting) this.#known.set(held.ref, held);
        this.#pinned = await readPinnedKeys(context, stored, entry);
        break;
      case 'child_requested':
        if (!checkRequest(context, state, entry, this.#starting)) return;
        break;
      case 'child_anchor':
        if (!(await this.#anchored(entry))) return;
        break;
      case 'eval_closed':
        this.#checkClose(entry);
        break;
      case 'eval_report':
        if (state.closed?.body.outcome !== 'complete')
          context.findings.error('report_mismatch', entry, 'only a complete evaluation has a report');
        // What is missing of a child is said already; a report over it would only say so again.
        else if (this.#unsound.size === 0 && this.#isAnchored()) this.#report = checkReport(context, state, entry);
        break;
      default:
        break;
    }
    evolve(state, entry);
  }

  /** False where the anchor is of no run of this evaluation, so that it counts for nothing. */
  async #anchored(anchor: EntryOf<'child_anchor'>): Promise<boolean> {
    const { context } = this;
    const id = anchor.body.child_run_id;
    const record = this.#state.children.get(id);
    if (record === undefined || !isPlanned(planOf(this.#state), parseChildRunId(id))) {
      context.findings.error('anchor_unplanned', anchor, `${id} is anchored and was not requested by the plan`);
      return false;
    }
    if (record.anchor !== null) {
      context.findings.error('anchor_unplanned', anchor, `${id} is anchored twice`);
      return false;
    }
    const chain = readAnchored(context, anchor, record);
    this.#join(chain.entries);
    const run = chain.whole ? await checkRun(context, this.#state, record, chain.entries, this.#known) : null;
    if (chain.whole) await checkAnchor(context, anchor, record, chain, run);
    if (run === null) this.#unsound.add(id);
    for (const held of record.promoted) this.#known.set(held.ref, held);
    if (this.settles && run !== null) this.#settle(id, chain.entries);
    return true;
  }

  #checkClose(closed: EntryOf<'eval_closed'>): void {
    const { context } = this;
    const { outcome, anchors } = closed.body;
    if (anchors !== this.#state.anchors)
      context.findings.error(
        'anchor_mismatch',
        closed,
        `the evaluation was closed with ${anchors} anchors, and has ${this.#state.anchors}`,
      );
    if (outcome !== 'complete') return;
    for (const child of this.#plannedChildren()) {
      if (this.#state.children.get(child)?.anchor == null)
        context.findings.error(
          'anchor_missing',
          closed,
          `the evaluation was closed complete, and ${child} has no anchor`,
        );
    }
  }

  #isAnchored(): boolean {
    return this.#plannedChildren().every((child) => this.#state.children.get(child)?.anchor != null);
  }

  #plannedChildren(): ChildRunId[] {
    const plan = planOf(this.#state);
    return [...places(plan)].flatMap((place) => plan.arms.map((arm) => childAt(this.#state.eval, place, arm.name)));
  }

  /** Children that have no anchor, in an evaluation that is open or that ended before its time: as far as they go. */
  async #openChildren(): Promise<void> {
    for (const id of [...this.#state.open]) {
      const record = this.#state.children.get(id) as ChildRecord;
      const chain = readForwards(this.context, id, record.request.hash);
      this.#join(chain);
      if (chain.length > 0) await checkRun(this.context, this.#state, record, chain, this.#known);
      if (record.sealed === null && this.#state.closed === null) {
        this.context.findings.information('ledger_open', { ledger: id, seq: chain.length }, 'the run is not sealed');
      }
    }
  }
}
