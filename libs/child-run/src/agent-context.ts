import type { ChildState } from '#lib/evaluation';
import type { RenderedLesson } from '#lib/lessons';
import { readBlob } from './blob.js';
import { budgetLeft } from './budget.js';
import { RunFault } from './faults.js';
import { taskOf } from './task.js';
import type { Work } from './work.js';

const NANO_PER_USD = 1e9;
const LAYER_ITEMS = /^<lessons>\n(\[.*\])\n<\/lessons>$/mu;

/**
 * The text of the file that `TRUSS_CONTEXT` names: all that an agent is told. No criteria, no expected values, no arm, no run id.
 * @throws RunFault `layer_missing` where the recalled lessons were erased
 */
export async function agentContext(work: Work, state: ChildState): Promise<string> {
  const { run } = work;
  const budget = budgetLeft(run.contract.budget, state);
  const context = {
    ...taskOf(run),
    lessons: await recalledItems(work, state),
    budget: {
      max_cost_usd: budget.max_cost_nano_usd === null ? null : budget.max_cost_nano_usd / NANO_PER_USD,
      max_steps: budget.max_steps,
      max_input_tokens: budget.max_input_tokens,
      max_output_tokens: budget.max_output_tokens,
      timeout_ms: budget.timeout_ms,
    },
    run: run.request.body.run,
  };
  return `${JSON.stringify(context, null, 2)}\n`;
}

/** The recalled lessons as they stand in their layer. @throws RunFault `layer_missing` where they were erased */
export async function recalledItems(work: Work, state: ChildState): Promise<RenderedLesson[]> {
  if (state.recalled === null) return [];
  const layer = await readBlob(state.recalled.body.layer, work.ports);
  if (layer === null)
    throw new RunFault('agent', 'layer_missing', 'the recalled lessons are not at hand: they were erased');
  const items = LAYER_ITEMS.exec(layer)?.[1];
  return items === undefined ? [] : (JSON.parse(items) as RenderedLesson[]);
}
