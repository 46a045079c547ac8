import type { ChildState } from '#lib/evaluation';
import { type BodyOf, type Draft, NO_SPEND } from '#lib/ledger';
import { renderLayer } from '#lib/lessons';
import type { Action, RunContext } from './actions.js';
import { faultOf, type RunFault } from './faults.js';

/**
 * What records that an action broke in a way that nobody foresaw, so that the run comes to its end and the command to no other executor, which it
 * would break too. A lesson that cannot be judged is not passed; all else leaves the run unverifiable.
 * @throws CannotGoOn where the disk is full or the log failed
 */
export function unexpectedEnd(action: Action, cause: unknown, state: ChildState, run: RunContext): Draft[] {
  const fault = faultOf(cause, state.answer === null ? 'agent' : 'workspace');
  switch (action.kind) {
    case 'check_lesson':
      return [
        {
          type: 'lesson_checked',
          body: { lesson: action.lesson, gate: 'checks', check: 'unexpected', passed: false, reason: fault.message },
        },
      ];
    case 'review_lesson':
      return [
        {
          type: 'lesson_reviewed',
          body: {
            lesson: action.lesson,
            reviewer: action.reviewer,
            vote: 'abstain',
            reason: fault.message,
            usage: NO_SPEND,
          },
        },
      ];
    case 'recall':
      return [fault.draft(), nothingRecalled(run, fault)];
    default:
      return [fault.draft()];
  }
}

/** Every run that is offered lessons says what became of them, also one that is broken. */
function nothingRecalled({ request }: RunContext, { code, message }: RunFault): Draft {
  const { text, digest } = renderLayer([]);
  const refused = request.body.lessons.map((lesson) => ({ lesson, code, reason: message }));
  const layer_digest = digest as BodyOf<'lessons_recalled'>['layer_digest'];
  return { type: 'lessons_recalled', body: { used: [], refused, layer: { text }, layer_digest } };
}
