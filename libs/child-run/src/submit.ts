import { posix } from 'node:path';
import { isProtected } from '#lib/contract';
import type { ChildState } from '#lib/evaluation';
import type { AgentEvent, Draft } from '#lib/ledger';
import { toBlob } from './blob.js';
import { answerOf, saidIn } from './calls.js';
import { faultOf } from './faults.js';
import { recalledItems } from './agent-context.js';
import { placeFault } from './tool-files.js';
import { changesDraft, viewWorkspace } from './view.js';
import type { Work } from './work.js';

/**
 * Takes what a model agent came to as its answer: without tools its reply, written to the answer's file; with them what it left in the workspace. At
 * a spent budget that may be nothing, and is judged all the same.
 */
export async function submitReply(work: Work, state: ChildState): Promise<Draft[]> {
  try {
    const { agent } = work.run.rendered;
    if (agent.kind !== 'llm') throw new Error('the agent is no model');
    const replies: string[] = [];
    for (const call of state.calls) {
      const answer = answerOf(call);
      if (call.started.purpose === 'agent' && answer !== null) replies.push((await saidIn(work, answer)).text);
    }
    const reply = replies.at(-1) ?? null;
    const written =
      agent.tools.length === 0 && reply !== null ? await writeReply(work, state, agent.answer_file, reply) : [];
    const cited = await citedIn(work, state, replies);
    return [
      ...(cited.length === 0 ? [] : [{ type: 'agent_reported', body: { events: cited } } as const]),
      ...written,
      {
        type: 'answer_submitted',
        body: {
          ended: state.exhausted.length > 0 ? 'stopped' : 'exited',
          exit_code: null,
          signal: null,
          output: await toBlob(reply ?? '', work),
          usage: state.spend.agent,
        },
      },
    ];
  } catch (cause) {
    return [faultOf(cause, 'workspace').draft()];
  }
}

async function writeReply(work: Work, state: ChildState, file: string, reply: string): Promise<Draft[]> {
  const at = posix.normalize(file);
  const view = await viewWorkspace(work, state);
  // A contract whose answer cannot be where it says gets none.
  if (!isProtected(work.run.contract, at) && placeFault(view, at) !== null) return [];
  return changesDraft(work, state, view.withFile(at, Buffer.from(reply, 'utf8')));
}

/** The recalled lessons whose ids stand in what the model said, each once. */
async function citedIn(work: Work, state: ChildState, replies: readonly string[]): Promise<AgentEvent[]> {
  const said = replies.join('\n');
  const known = new Set(state.events.flatMap((event) => (event.type === 'cited' ? [event.lesson] : [])));
  return (await recalledItems(work, state))
    .map(({ id }) => id)
    .filter((id) => !known.has(id) && new RegExp(`(?<![\\w])${id}(?![\\w])`, 'u').test(said))
    .map((lesson) => ({ type: 'cited', lesson }));
}
