import { buildReport, childAt, type EvaluationState, places, planOf, requestDigest } from '#lib/evaluation';
import { canonicalJson, type EvalRunId, fromHex, headOf, merkleRoot, toHex } from '#lib/ledger';
import { Violation } from './referee.testkit.js';
import type { World } from './world.testkit.js';

/** What must hold when everything has come to rest. */
export function checkEnd(world: World, faultFree: (scenario: number) => string): void {
  checkConflicts(world);
  for (const [evaluation, truth] of world.referee.truths) {
    const { state, live } = truth;
    if (state.started === null) throw new Violation('one_anchor_each', `${evaluation} never began`);
    checkAnchors(world, evaluation);
    const outcome = state.closed?.body.outcome;
    if (outcome === 'complete') checkReport(world, evaluation, state, faultFree(scenarioOf(state)));
    else if (outcome === 'cancelled' ? world.mix.cancelAt === null : outcome !== 'failed' || !world.mix.bigJumps) {
      throw new Violation('outcome_differs', `${evaluation} ended ${outcome}`);
    }
    for (const process of world.processes) {
      const view = process.alive ? process.log.complete(evaluation) : null;
      if (view === null) continue;
      const differs =
        view.live.report !== live.report || view.live.closed !== live.closed || view.state.anchors !== state.anchors;
      if (differs) throw new Violation('views_differ', `${process.name} sees another ${evaluation}`);
    }
  }
}

/** Whoever asked for something else under the same id must be told. */
function checkConflicts(world: World): void {
  for (const record of world.accepted.flat()) {
    const { accepted } = record;
    if (accepted.kind !== 'eval' || world.referee.settled.has(record)) continue;
    const { started } = world.referee.truth(accepted.eval_run_id as EvalRunId).state;
    if (started?.body.request_digest !== requestDigest(accepted.request)) {
      throw new Violation(
        'outcome_differs',
        `an acceptance of ${accepted.eval_run_id} asks for something else and was not refused`,
      );
    }
  }
}

function checkAnchors(world: World, evaluation: EvalRunId): void {
  const { state, live } = world.referee.truth(evaluation);
  const anchors = world.log.filter(
    (entry) => entry.type === 'child_anchor' && live.parent?.hashes[entry.seq] === entry.hash,
  );
  const seen = new Set<string>();
  for (const entry of new Set(anchors)) {
    if (entry.type !== 'child_anchor') continue;
    const { body } = entry;
    if (seen.has(body.child_run_id)) throw new Violation('one_anchor_each', `${body.child_run_id} has two anchors`);
    seen.add(body.child_run_id);
    const chain = live.children.get(body.child_run_id)?.chain;
    const child = state.children.get(body.child_run_id);
    const fits =
      chain != null &&
      chain.hashes.length === body.entries &&
      headOf(chain) === body.head_hash &&
      toHex(merkleRoot(chain.hashes.map((hash) => fromHex(hash)))) === body.root_hash &&
      child?.sealed?.verdict_ref === body.verdict_ref &&
      child.sealed.entries === body.entries &&
      canonicalJson(child.sealed.usage) === canonicalJson(body.usage) &&
      new Set(body.superseded.hashes).size === body.superseded.count;
    if (!fits)
      throw new Violation('anchor_mismatch', `the anchor of ${body.child_run_id} is not that of its live chain`);
  }
  const plan = planOf(state);
  const planned = [...places(plan)].flatMap((place) => plan.arms.map((arm) => childAt(evaluation, place, arm.name)));
  if (state.closed?.body.outcome === 'complete' && planned.some((id) => !seen.has(id))) {
    throw new Violation('one_anchor_each', `${evaluation} is complete with ${seen.size} of ${planned.length} anchors`);
  }
}

function checkReport(world: World, evaluation: EvalRunId, state: EvaluationState, expected: string): void {
  const published = world.reports.filter((report) => report.eval === evaluation);
  const body = canonicalJson(buildReport(state), 'any');
  if (published.length === 0 || state.report === null) throw new Violation('one_report', `${evaluation} has no report`);
  if (published.some((report) => report.body !== body || report.ref !== state.report?.ref)) {
    throw new Violation('one_report', `${evaluation} has two report bodies`);
  }
  if (planOf(state).seed !== 1000 + scenarioOf(state)) return;
  const outcome = outcomeOf(state);
  if (outcome !== expected)
    throw new Violation('outcome_differs', `${evaluation}: ${firstDifference(outcome, expected)}`);
}

function scenarioOf(state: EvaluationState): number {
  return Number(state.started?.body.request_id.split(' ')[1]);
}

function firstDifference(measured: string, expected: string): string {
  const [lines, others] = [measured.split('\n'), expected.split('\n')];
  const at = lines.findIndex((line, i) => line !== others[i]);
  return `measured\n${lines.slice(Math.max(0, at - 3), at + 3).join('\n')}\nand without faults\n${others.slice(Math.max(0, at - 3), at + 3).join('\n')}`;
}

/** Verdicts, counts, lessons and measured usage: all that must not depend on what went wrong on the way. */
export function outcomeOf(state: EvaluationState): string {
  const { arms, delta, curve, verdict, evidence, spend } = buildReport(state);
  const titles = new Map(
    [...state.children.values()].flatMap((child) =>
      child.promoted.map(({ ref, lesson }) => [ref, lesson.title] as const),
    ),
  );
  const children = arms.map((arm) =>
    arm.children.map((child) => [child.child_run_id, child.case, child.verdict, child.usage]),
  );
  const lessons = [...state.children.values()]
    .map((child) => [
      child.id,
      child.request.body.lessons.map((ref) => titles.get(ref)),
      child.promoted.map(({ lesson }) => lesson.title),
      child.rendered,
    ])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  const { superseded: _s, interrupted: _i, unmeasured_calls: _u, ...measured } = spend;
  const totals = arms.map(({ counts, usage }) => ({ counts, usage }));
  return JSON.stringify({ verdict, delta, curve, evidence, totals, measured, children, lessons }, null, 1);
}
