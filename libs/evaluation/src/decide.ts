import {
  addUsage,
  type BodyOf,
  type Draft,
  fromHex,
  headOf,
  merkleRoot,
  NO_SPEND,
  type Plan,
  toHex,
  type EntryHash,
} from '#lib/ledger';
import { offerLessons, type HeldLesson } from '#lib/lessons';
import { agentSeed, caseOrder, childAt, dispatchOrder, type Place, plannedRuns, planContract } from './schedule.js';
import { type ChildRecord, type EvaluationState, type EvaluationView, type Lane, laneOf, planOf } from './state.js';

export interface DecideInput {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Why a cancel was asked for, if one was. */
  readonly cancelled: string | null;
  /** The lessons that the plan starts from, read from the bundle that it pins. */
  readonly starting: readonly HeldLesson[];
  /** 128 random bits as hex: the name under which agents see a run. */
  readonly runToken: () => string;
}

/**
 * What the owner of an evaluation writes next to its ledger, given all that stands in the log: nothing, the close, or the
 * anchors of the runs that were sealed and then the requests of the pairs whose turn has come.
 */
export function decide(view: EvaluationView, input: DecideInput): Draft[] {
  const { state } = view;
  const plan = planOf(state);
  if (state.closed !== null) return [];
  const sealed = [...state.open]
    .map((id) => state.children.get(id) as ChildRecord)
    .filter((child) => child.sealed !== null);
  const anchors = sealed.map((child): Draft => ({ type: 'child_anchor', body: anchorBody(view, child) }));
  const done = state.anchors + anchors.length;
  if (done === plannedRuns(plan)) return [...anchors, closeDraft('complete', done, 'every planned run is anchored')];
  const end = reasonToEnd(state, plan, input);
  if (end !== null) return [...anchors, closeDraft(end.outcome, done, end.reason)];
  return [...anchors, ...requests(state, plan, input, new Set(sealed))];
}

function closeDraft(outcome: BodyOf<'eval_closed'>['outcome'], anchors: number, reason: string): Draft {
  return { type: 'eval_closed', body: { outcome, anchors, reason } };
}

function reasonToEnd(
  state: EvaluationState,
  plan: Plan,
  input: DecideInput,
): { outcome: 'cancelled' | 'failed'; reason: string } | null {
  if (input.cancelled !== null) return { outcome: 'cancelled', reason: input.cancelled };
  if (input.now >= Date.parse(plan.deadline))
    return { outcome: 'failed', reason: `the deadline ${plan.deadline} has passed` };
  const limit = plan.max_cost_nano_usd;
  const spent = state.spent.cost_nano_usd;
  if (limit !== null && spent !== null && spent >= limit) {
    return { outcome: 'failed', reason: `the evaluation's budget is spent: ${spent} of ${limit} nano-USD` };
  }
  return null;
}

/** An anchor stands in its entry whatever happened, so it lists so many of the superseded at most, and counts all. */
export const MAX_SUPERSEDED_LISTED = 500;

function anchorBody(view: EvaluationView, child: ChildRecord): BodyOf<'child_anchor'> {
  const chain = view.live.children.get(child.id)?.chain;
  if (chain == null || child.sealed === null) throw new Error(`run ${child.id} is sealed without a chain`);
  return {
    child_run_id: child.id,
    entries: chain.hashes.length,
    root_hash: toHex(merkleRoot(chain.hashes.map((hash) => fromHex(hash)))) as EntryHash,
    head_hash: headOf(chain),
    verdict: child.sealed.verdict,
    verdict_ref: child.sealed.verdict_ref,
    usage: child.sealed.usage,
    superseded: {
      count: child.superseded.length,
      hashes: child.superseded.slice(0, MAX_SUPERSEDED_LISTED).map((entry) => entry.hash),
      usage: child.superseded.reduce((sum, entry) => addUsage(sum, entry.usage), NO_SPEND),
    },
  };
}

/** Repeats in sequence within a replicate, `concurrency` replicates at a time, the arms of a pair together. */
function requests(state: EvaluationState, plan: Plan, input: DecideInput, sealed: ReadonlySet<ChildRecord>): Draft[] {
  const anchoredNow = new Map<Lane, number>();
  for (const child of sealed) {
    const lane = laneOf(state, child);
    if (lane !== undefined) anchoredNow.set(lane, (anchoredNow.get(lane) ?? 0) + 1);
  }
  const drafts: Draft[] = [];
  let running = 0;
  for (const lane of state.lanes.slice(firstUnfinished(state, plan))) {
    if (running === plan.concurrency) break;
    const settled =
      lane.requested === plan.arms.length && lane.anchored + (anchoredNow.get(lane) ?? 0) === plan.arms.length;
    if (settled && lane.repeat === plan.repeats) continue;
    running += 1;
    const { contract, replicate } = lane;
    if (lane.repeat === 0 || settled) {
      drafts.push(...pairRequests(state, plan, { contract, replicate, repeat: lane.repeat + 1 }, input, sealed));
    } else if (lane.requested < plan.arms.length) {
      drafts.push(...pairRequests(state, plan, { contract, replicate, repeat: lane.repeat }, input, sealed));
    }
  }
  return drafts;
}

// Lanes finish roughly in order, so the finished ones in front are skipped once and for all.
function firstUnfinished(state: EvaluationState, plan: Plan): number {
  const finished = (lane: Lane | undefined) =>
    lane !== undefined && lane.repeat === plan.repeats && lane.anchored === plan.arms.length;
  while (finished(state.lanes[state.finishedLanes])) state.finishedLanes += 1;
  return state.finishedLanes;
}

function pairRequests(
  state: EvaluationState,
  plan: Plan,
  place: Place,
  input: DecideInput,
  sealed: ReadonlySet<ChildRecord>,
): Draft[] {
  const drafts: Draft[] = [];
  for (const arm of dispatchOrder(plan, place)) {
    const id = childAt(state.eval, place, arm.name);
    if (state.children.has(id)) continue;
    drafts.push({
      type: 'child_requested',
      body: {
        child_run_id: id,
        case: caseAt(plan, place)?.id ?? null,
        seed: agentSeed(plan, place),
        run: input.runToken(),
        lessons:
          arm.memory.recall === 'off'
            ? []
            : offerAt(state, plan, place, arm.name, input.starting, (c) => sealed.has(c)),
      },
    });
  }
  return drafts;
}

export function caseAt(plan: Plan, place: Place): { id: string; family: string | null } | null {
  const { cases } = planContract(plan, place.contract);
  if (cases.length === 0) return null;
  const index = caseOrder(plan, place.contract, place.replicate)[place.repeat - 1];
  return index === undefined ? null : (cases[index] ?? null);
}

/** The lessons that a run is offered: a pure function of the starting lessons and the anchored repeats of its own replicate and arm. */
export function offerAt(
  state: EvaluationState,
  plan: Plan,
  place: Place,
  arm: string,
  starting: readonly HeldLesson[],
  anchoredNow: (child: ChildRecord) => boolean = () => false,
): BodyOf<'child_requested'>['lessons'] {
  const contract = planContract(plan, place.contract);
  if (contract.learning === null) return [];
  const anchored: { repeat: number; lessons: readonly HeldLesson[] }[] = [];
  for (let repeat = 1; repeat < place.repeat; repeat++) {
    const child = state.children.get(childAt(state.eval, { ...place, repeat }, arm));
    if (child !== undefined && (child.anchor !== null || anchoredNow(child)))
      anchored.push({ repeat, lessons: child.promoted });
  }
  const row = caseAt(plan, place);
  return offerLessons({
    rule: plan.offer_rule,
    starting,
    anchored,
    contract: contract.id,
    caseId: row?.id ?? null,
    family: row?.family ?? null,
    scope: contract.learning.scope,
    max: contract.learning.max_recalled,
    sameCase: contract.learning.same_case,
  });
}
