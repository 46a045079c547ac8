import {
  agentSeed,
  caseAt,
  childAt,
  dispatchOrder,
  type EvaluationState,
  isPlanned,
  offerAt,
  planOf,
} from '#lib/evaluation';
import { type EntryOf, parseChildRunId } from '#lib/ledger';
import type { HeldLesson } from '#lib/lessons';
import type { Context } from './context.js';

/**
 * Step 6: a run was requested as the plan has it (planned, once, with its case and seed, after the repeat before it and in the order of the draw), and was
 * offered exactly the lessons that the offer rule gives. `state` is that before the request. False where the run is not of the plan.
 */
export function checkRequest(
  context: Context,
  state: EvaluationState,
  request: EntryOf<'child_requested'>,
  starting: readonly HeldLesson[],
): boolean {
  const plan = planOf(state);
  const { child_run_id: id, seed, case: row, lessons } = request.body;
  const wrong = (message: string): void => context.findings.error('plan_mismatch', request, message);
  const address = parseChildRunId(id);
  if (address.eval !== context.evaluation || !isPlanned(plan, address)) {
    wrong(`${id} is no run of the plan`);
    return false;
  }
  if (state.children.has(id)) {
    wrong(`${id} is requested twice`);
    return false;
  }
  const place = { contract: address.contract, replicate: address.replicate, repeat: address.repeat };
  if (seed !== agentSeed(plan, place)) wrong(`the seed of ${id} does not follow from the plan`);
  if (row !== (caseAt(plan, place)?.id ?? null)) wrong(`the case of ${id} does not follow from the plan`);
  for (const arm of dispatchOrder(plan, place)) {
    if (arm.name === address.arm) break;
    if (!state.children.has(childAt(state.eval, place, arm.name)))
      wrong(`${id} is requested before ${arm.name}, against the order that was drawn`);
  }
  const before = { ...place, repeat: place.repeat - 1 };
  if (
    before.repeat > 0 &&
    plan.arms.some((arm) => state.children.get(childAt(state.eval, before, arm.name))?.anchor == null)
  ) {
    wrong(`${id} is requested before the repeat before it was anchored in every arm`);
  }
  const arm = plan.arms.find(({ name }) => name === address.arm);
  const offer = arm === undefined || arm.memory.recall === 'off' ? [] : offerAt(state, plan, place, arm.name, starting);
  if (offer.length !== lessons.length || offer.some((ref, i) => ref !== lessons[i])) {
    context.findings.error(
      'lessons_offered_mismatch',
      request,
      `${id} was offered ${lessons.length} lessons; the offer rule gives ${offer.length}, or others, or in another order`,
    );
  }
  return true;
}
