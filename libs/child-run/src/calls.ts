import type { CallState, ChildState } from '#lib/evaluation';
import { type BodyOf, parseChildRunId } from '#lib/ledger';
import type { ModelMessage, ModelAnswer } from '#lib/providers';
import { readBlob } from './blob.js';
import { RunFault } from './faults.js';
import type { Work } from './work.js';

/** What is kept of an answer: it is shown to the model again. */
export type Said = Pick<ModelAnswer, 'text' | 'tool_calls'>;

type Completed = BodyOf<'model_call_completed'>;

/** The answer of a call; `null` where it has none. */
export function answerOf({ outcome }: CallState): Completed | null {
  return typeof outcome === 'object' && outcome.body.outcome === 'answered' ? outcome.body : null;
}

/** @throws RunFault `transcript_missing` where it was erased */
export async function saidIn(work: Work, { answer }: Completed): Promise<Said> {
  return JSON.parse(await transcript(work, answer)) as Said;
}

/** What the agent's model said so far, and what its tools answered. @throws RunFault `transcript_missing` */
export async function agentTranscript(work: Work, state: ChildState): Promise<ModelMessage[]> {
  const messages: ModelMessage[] = [];
  for (const call of state.calls) {
    const answer = answerOf(call);
    if (call.started.purpose !== 'agent' || answer === null) continue;
    const { text, tool_calls } = await saidIn(work, answer);
    messages.push({ role: 'assistant', text, tool_calls });
    for (const { index, result } of call.tools) {
      const asked = tool_calls[index];
      if (asked === undefined) continue;
      messages.push({ role: 'tool', tool_call_id: asked.id, name: asked.name, text: await transcript(work, result) });
    }
  }
  return messages;
}

export async function transcript(work: Work, blob: Completed['answer']): Promise<string> {
  const text = await readBlob(blob, work.ports);
  if (text === null)
    throw new RunFault('agent', 'transcript_missing', 'what the model was told or said is not at hand: it was erased');
  return text;
}

/** Who asks, for recordings: the same in each evaluation of a contract. */
export function laneOfCall(work: Work, { purpose, subject, reviewer }: BodyOf<'model_call_started'>): string {
  const { arm, replicate, repeat } = parseChildRunId(work.run.child);
  const about = subject?.startsWith('lesson:') === true ? 'lesson' : subject;
  const who = purpose === 'review' ? `review/${about}/${reviewer}` : purpose;
  return `${arm}.${replicate}.${repeat}/${who}`;
}
