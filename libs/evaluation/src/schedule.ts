import type { Contract } from '#lib/contract';
import { type Arm, type ChildAddress, type ChildRunId, childRunId, type EvalRunId, type Plan } from '#lib/ledger';
import { Draw } from './draw.js';

/** A pair: the runs of all arms at one place of the schedule. They get one case and one seed, and run side by side. */
export interface Place {
  readonly contract: number;
  readonly replicate: number;
  readonly repeat: number;
}

export function planContract(plan: Plan, no: number): Contract {
  const entry = plan.contracts[no];
  if (entry === undefined) throw new RangeError(`the plan has no contract ${no}`);
  return entry.contract as Contract;
}

/** Every pair of the plan, replicate by replicate, each in the order in which its repeats run. */
export function* places(plan: Plan): Generator<Place> {
  for (let contract = 0; contract < plan.contracts.length; contract++) {
    for (let replicate = 1; replicate <= plan.replicates; replicate++) {
      for (let repeat = 1; repeat <= plan.repeats; repeat++) yield { contract, replicate, repeat };
    }
  }
}

export function plannedRuns(plan: Plan): number {
  return plan.contracts.length * plan.replicates * plan.repeats * plan.arms.length;
}

export function childAt(evaluation: EvalRunId, place: Place, arm: string): ChildRunId {
  const { contract, replicate, repeat } = place;
  return childRunId({ eval: evaluation, contract, arm, replicate, repeat });
}

/** Whether the plan asks for this run. */
export function isPlanned(plan: Plan, child: ChildAddress): boolean {
  return (
    child.contract < plan.contracts.length &&
    child.replicate <= plan.replicates &&
    child.repeat <= plan.repeats &&
    plan.arms.some((arm) => arm.name === child.arm)
  );
}

/** The case of each repeat of a replicate, by its index in the contract's list; each replicate has an order of its own. */
export function caseOrder(plan: Plan, contract: number, replicate: number): readonly number[] {
  const cases = planContract(plan, contract).cases;
  const order = new Draw(plan.seed, 'cases', contract, replicate).shuffled(cases.map((_, index) => index));
  return order.slice(0, plan.repeats);
}

/** The seed that the agent gets: one for all arms of a pair. */
export function agentSeed(plan: Plan, place: Place): number {
  return new Draw(plan.seed, 'agent', place.contract, place.replicate, place.repeat).below(2 ** 31);
}

/** The arms of a pair in the order in which they are dispatched. */
export function dispatchOrder(plan: Plan, place: Place): readonly Arm[] {
  return new Draw(plan.seed, 'dispatch', place.contract, place.replicate, place.repeat).shuffled(plan.arms);
}

/** The row of a contract's cases with this id; `null` for a contract without cases. */
export function caseOf(contract: Contract, id: string | null): Contract['cases'][number] | null {
  return contract.cases.find((row) => row.id === id) ?? null;
}
