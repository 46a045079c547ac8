import type { Agent } from '#lib/contract';
import type { ChildState } from '#lib/evaluation';
import type { ModelMessage } from '#lib/providers';
import { agentTranscript } from './calls.js';
import { readBlob } from './blob.js';
import { RunFault } from './faults.js';
import type { Asking } from './worst-case.js';
import { offeredTools } from './tool-shapes.js';
import type { Work } from './work.js';

type ModelAgent = Extract<Agent, { kind: 'llm' }>;

/** Of one reply, where the budget leaves as much. */
const OUTPUT_TOKENS = 4_096;

/** Layer L0. It is the same in every run: whatever is particular to one stands in the user's part. */
const WITH_TOOLS =
  'You work on one task, in a workspace that only your tools reach. Paths are relative to it. When the task is done, reply without calling a tool.';
const WITHOUT_TOOLS = 'Answer the task. Your whole reply is taken as the answer.';

/**
 * The next request of a model agent, in layers: L0 the system's part; then in the user's part L2, the recalled lessons as quoted data, and L1, the
 * contract's instructions, last, so that data never has the last word; then the transcript.
 * @throws RunFault `layer_missing`, `transcript_missing` where a transcript was erased
 */
export async function agentRequest(work: Work, state: ChildState): Promise<Asking> {
  const { agent, instructions } = work.run.rendered;
  if (agent.kind !== 'llm') throw new Error('the agent is no model');
  const layer = state.recalled === null ? '' : await readBlob(state.recalled.body.layer, work.ports);
  if (layer === null)
    throw new RunFault('agent', 'layer_missing', 'the recalled lessons are not at hand: they were erased');
  const user = layer === '' ? instructions : `${layer}\n${instructions}`;
  return agentAsking(agent, user, await agentTranscript(work, state));
}

export function agentAsking(agent: ModelAgent, user: string, transcript: readonly ModelMessage[]): Asking {
  const tools = offeredTools(agent.tools);
  return {
    provider: agent.provider,
    system: tools.length === 0 ? WITHOUT_TOOLS : WITH_TOOLS,
    messages: [{ role: 'user', text: user }, ...transcript],
    tools,
    structured: null,
    wanted: OUTPUT_TOKENS,
  };
}
