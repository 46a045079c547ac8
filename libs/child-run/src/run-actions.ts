import type { ChildState } from '#lib/evaluation';
import type { Draft } from '#lib/ledger';
import type { Action, ActionPorts, RunActions, RunContext } from './actions.js';
import { runCommandAgent } from './agent-command.js';
import { runFixedAgent } from './agent-fixed.js';
import { checkCriterion } from './criteria.js';
import { extractLessons } from './extract.js';
import { faultOf } from './faults.js';
import { checkLesson } from './lesson-checks.js';
import { makeCall } from './call.js';
import { prepareCall } from './prepare-call.js';
import { recallLessons } from './recall.js';
import { reviewCriterion, reviewLesson } from './review.js';
import { Scratch } from './scratch.js';
import { redactAll, redactorOf } from './secrets.js';
import { submitReply } from './submit.js';
import { useTool } from './tool.js';
import { unexpectedEnd } from './unexpected.js';
import { type RunLimits, runLimits, type Work } from './work.js';

/**
 * The effects of one child run. Nothing is held from one action to the next: each begins from the ledger, so a run goes on
 * elsewhere as it would have here.
 */
export function createRunActions(run: RunContext, ports: ActionPorts, limits: Partial<RunLimits> = {}): RunActions {
  const redact = redactorOf(ports.secrets);
  const clean = (drafts: Draft[]): Draft[] => redactAll(drafts, redact);
  const work: Work = {
    run,
    ports,
    scratch: new Scratch(),
    limits: { ...runLimits, ...limits },
    redact,
  };
  let ended = false;
  const underWay = new Map<Promise<Draft[]>, AbortController>();
  return {
    async perform(action, state, progress, abort) {
      if (ended || abort.aborted) return [];
      const stop = new AbortController();
      const onStop = (): void => stop.abort();
      abort.addEventListener('abort', onStop, { once: true });
      const report = (drafts: Draft[]): void => progress(clean(drafts));
      const result = act(work, action, state, report, stop.signal)
        .catch((cause: unknown) => unexpectedEnd(action, cause, state, run))
        .then(clean);
      underWay.set(result, stop);
      try {
        const drafts = await result;
        return stop.signal.aborted ? [] : drafts;
      } finally {
        underWay.delete(result);
        abort.removeEventListener('abort', onStop);
      }
    },
    async dispose() {
      ended = true;
      for (const stop of underWay.values()) stop.abort();
      await Promise.allSettled(underWay.keys());
      await work.scratch.dispose();
    },
  };
}

async function act(
  work: Work,
  action: Action,
  state: ChildState,
  progress: (drafts: Draft[]) => void,
  abort: AbortSignal,
): Promise<Draft[]> {
  switch (action.kind) {
    case 'agent':
      return runAgent(work, state, progress, abort);
    case 'prepare_call':
      return prepareCall(work, action, state);
    case 'call':
      return makeCall(work, action.call, state, abort);
    case 'tool':
      return useTool(work, action, state, abort);
    case 'submit':
      return submitReply(work, state);
    case 'check':
      return checkCriterion(work, action.criterion, state, abort);
    case 'recall':
      return recallLessons(work);
    case 'review':
      return reviewCriterion(work, action, state, abort);
    case 'extract':
      return extractLessons(work, state).catch((cause: unknown) => [faultOf(cause, 'agent').draft()]);
    case 'check_lesson':
      return checkLesson(work, action.lesson, state);
    case 'review_lesson':
      return reviewLesson(work, action, state, abort);
    default:
      return action satisfies never;
  }
}

async function runAgent(
  work: Work,
  state: ChildState,
  progress: (drafts: Draft[]) => void,
  abort: AbortSignal,
): Promise<Draft[]> {
  const { agent } = work.run.rendered;
  try {
    switch (agent.kind) {
      case 'fixed':
        return await runFixedAgent(work, agent);
      case 'command':
        return await runCommandAgent(work, agent.command, state, progress, abort);
      case 'llm':
        throw new Error('a model agent is a loop of calls, each an action of its own');
      default:
        return agent satisfies never;
    }
  } catch (cause) {
    return abort.aborted ? [] : [faultOf(cause, 'agent').draft()];
  }
}
