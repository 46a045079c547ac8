import {
  addUsage,
  type BodyOf,
  type ChildRunId,
  type Entry,
  type EntryHash,
  type EvalRunId,
  type Joining,
  type LedgerRef,
  type LiveChains,
  NO_SPEND,
  NO_SPENDING,
  parseChildRunId,
  type Plan,
  refOf,
  type SignedEntry,
  type Usage,
} from '#lib/ledger';
import type { HeldLesson } from '#lib/lessons';
import { type ChildState, evolveChild, newChild, usageOf } from './child-state.js';
import { toldOf } from './prompts.js';

export interface ChildRecord {
  readonly id: ChildRunId;
  readonly arm: string;
  readonly contract: number;
  readonly replicate: number;
  readonly repeat: number;
  readonly request: { readonly ref: LedgerRef; readonly hash: EntryHash; readonly body: BodyOf<'child_requested'> };
  /** Dropped at the anchor, so that an evaluation's memory does not hold its transcripts. */
  run: ChildState | null;
  anchor: { readonly ref: LedgerRef; readonly body: BodyOf<'child_anchor'> } | null;
  /** By who caused it, as sealed. */
  sealed: BodyOf<'run_sealed'> | null;
  promoted: readonly HeldLesson[];
  /** How many lessons were in the agent's context, and their tokens. */
  rendered: { readonly lessons: number; readonly tokens: number };
  /** Digest of what the agent was told beside its lessons: see `toldOf`. */
  told: string | null;
  /** Entries that joined no chain before the anchor: a displaced writer's, paid and of no use. */
  readonly superseded: { readonly hash: EntryHash; readonly usage: Usage }[];
}

/** One replicate of one contract: its repeats run one after the other. */
export interface Lane {
  readonly contract: number;
  readonly replicate: number;
  /** The repeat under way or done, 0 before the first, and how many of its runs are requested and anchored. */
  repeat: number;
  requested: number;
  anchored: number;
}

/** What the live chains of one evaluation say so far. */
export interface EvaluationState {
  readonly eval: EvalRunId;
  started: { readonly ref: LedgerRef; readonly at: string; readonly body: BodyOf<'eval_started'> } | null;
  readonly children: Map<ChildRunId, ChildRecord>;
  /** Requested and not yet anchored. */
  readonly open: Set<ChildRunId>;
  lanes: Lane[];
  /** How many lanes at the front of `lanes` are known to be finished. */
  finishedLanes: number;
  anchors: number;
  /** Usage as it was reported by all runs together, superseded work included: what the evaluation's budget is charged. */
  spent: Usage;
  closed: { readonly ref: LedgerRef; readonly at: string; readonly body: BodyOf<'eval_closed'> } | null;
  report: { readonly ref: LedgerRef; readonly body: BodyOf<'eval_report'>; readonly envelope: SignedEntry } | null;
}

export function initialState(evaluation: EvalRunId): EvaluationState {
  return {
    eval: evaluation,
    started: null,
    children: new Map(),
    open: new Set(),
    lanes: [],
    finishedLanes: 0,
    anchors: 0,
    spent: NO_SPEND,
    closed: null,
    report: null,
  };
}

/** @throws Error where nothing was planned yet: a caller's mistake. */
export function planOf(state: EvaluationState): Plan {
  if (state.started === null) throw new Error(`evaluation ${state.eval} has no plan yet`);
  return state.started.body.plan;
}

/** Takes the next entry in log order in, in place, with what became of it in the live chains. */
export function observe(state: EvaluationState, entry: Entry, joining: Joining): void {
  if (joining === 'duplicate') return;
  if (joining === 'joined') evolve(state, entry);
  else if (!supersede(state.children.get(entry.ledger as ChildRunId), entry)) return;
  if (entry.ledger !== state.eval) charge(state, usageOf(entry));
}

/** False for a copy of what was superseded before: it was paid once. */
function supersede(child: ChildRecord | undefined, entry: Entry): boolean {
  if (child === undefined || child.superseded.some(({ hash }) => hash === entry.hash)) return false;
  child.superseded.push({ hash: entry.hash, usage: usageOf(entry) });
  return true;
}

function charge(state: EvaluationState, usage: Usage): void {
  state.spent = addUsage(state.spent, usage);
}

/** Takes the next entry that joined a live chain in, in place. */
export function evolve(state: EvaluationState, entry: Entry): void {
  if (entry.ledger !== state.eval) {
    const child = state.children.get(entry.ledger as ChildRunId);
    if (child?.run != null) evolveRun(child, child.run, entry);
    return;
  }
  const ref = refOf(entry);
  switch (entry.type) {
    case 'eval_started':
      state.started = { ref, at: entry.at, body: entry.body };
      state.lanes = lanesOf(entry.body.plan);
      return;
    case 'child_requested': {
      const id = entry.body.child_run_id;
      if (state.children.has(id)) return;
      const address = parseChildRunId(id);
      const lane = laneOf(state, address);
      if (lane !== undefined) {
        if (address.repeat > lane.repeat) Object.assign(lane, { repeat: address.repeat, requested: 0, anchored: 0 });
        lane.requested += 1;
      }
      state.open.add(id);
      state.children.set(id, {
        id,
        ...address,
        request: { ref, hash: entry.hash, body: entry.body },
        run: newChild(),
        anchor: null,
        sealed: null,
        promoted: [],
        rendered: { lessons: 0, tokens: 0 },
        told: null,
        superseded: [],
      });
      return;
    }
    case 'child_anchor': {
      const child = state.children.get(entry.body.child_run_id);
      if (child === undefined || child.anchor !== null) return;
      child.anchor = { ref, body: keptAnchor(entry.body, child.sealed) };
      child.run = null;
      state.anchors += 1;
      state.open.delete(child.id);
      const lane = laneOf(state, child);
      if (lane !== undefined) lane.anchored += 1;
      return;
    }
    case 'eval_closed':
      state.closed = { ref, at: entry.at, body: entry.body };
      return;
    case 'eval_report':
      state.report = { ref, body: entry.body, envelope: entry.envelope };
      return;
    default:
      return;
  }
}

function lanesOf(plan: Plan): Lane[] {
  return plan.contracts.flatMap((_, contract) =>
    Array.from({ length: plan.replicates }, (__, i) => ({
      contract,
      replicate: i + 1,
      repeat: 0,
      requested: 0,
      anchored: 0,
    })),
  );
}

export function laneOf(state: EvaluationState, child: { contract: number; replicate: number }): Lane | undefined {
  return state.lanes[child.contract * planOf(state).replicates + child.replicate - 1];
}

function evolveRun(child: ChildRecord, run: ChildState, entry: Entry): void {
  evolveChild(run, entry);
  if (entry.type === 'lessons_recalled') {
    const used = entry.body.used;
    child.rendered = { lessons: used.length, tokens: used.reduce((sum, lesson) => sum + lesson.tokens, 0) };
  } else if (entry.type === 'run_sealed') {
    child.sealed = keptSeal(entry.body);
    child.told = toldOf(run);
    const promoted = run.lessons.filter((lesson) => lesson.outcome === 'promoted');
    child.promoted = promoted.length === 0 ? NONE : promoted.map(({ ref, lesson }) => ({ ref, lesson }));
  }
}

const NONE: readonly HeldLesson[] = [];

// Seals and anchors are kept for every run of an evaluation, and most of what they hold is the same: one object for all of it is a third of their memory.

function keptSeal(body: BodyOf<'run_sealed'>): BodyOf<'run_sealed'> {
  const { agent, tools, reviewers, extraction } = body.spend;
  const spend = {
    agent: keptUsage(agent),
    tools: keptUsage(tools),
    reviewers: keptUsage(reviewers),
    extraction: keptUsage(extraction),
  };
  const isNothing = Object.values(spend).every((usage) => usage === NO_SPEND);
  return {
    ...body,
    spend: isNothing ? NO_SPENDING : spend,
    usage: keptUsage(body.usage),
    interrupted: keptUsage(body.interrupted),
  };
}

function keptAnchor(body: BodyOf<'child_anchor'>, sealed: ChildRecord['sealed']): BodyOf<'child_anchor'> {
  const { superseded } = body;
  const isNothing = superseded.count === 0 && superseded.hashes.length === 0 && isZero(superseded.usage);
  return {
    ...body,
    verdict_ref: sealed?.verdict_ref === body.verdict_ref ? sealed.verdict_ref : body.verdict_ref,
    usage: keptUsage(body.usage),
    superseded: isNothing ? NOTHING_SUPERSEDED : { ...superseded, usage: keptUsage(superseded.usage) },
  };
}

const NOTHING_SUPERSEDED: BodyOf<'child_anchor'>['superseded'] = { count: 0, hashes: [], usage: NO_SPEND };

function keptUsage(usage: Usage): Usage {
  return isZero(usage) ? NO_SPEND : usage;
}

function isZero(usage: Usage): boolean {
  return (
    usage.cost_nano_usd === 0 &&
    usage.steps === 0 &&
    usage.input_tokens === 0 &&
    usage.output_tokens === 0 &&
    usage.unmeasured_calls === 0 &&
    usage.unpriced_calls === undefined
  );
}

/** One process's reading of an evaluation: the live chains, and what their entries say. */
export interface EvaluationView {
  readonly live: LiveChains;
  readonly state: EvaluationState;
}
