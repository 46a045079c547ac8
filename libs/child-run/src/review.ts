import { z } from 'zod';
import type { Reviewer } from '#lib/contract';
import type { ChildState } from '#lib/evaluation';
import { type Draft, type LedgerRef, NO_SPEND, type Vote } from '#lib/ledger';
import { environmentOf } from './environment.js';
import { type Question, questionAboutAnswer, questionAboutLesson } from './evidence.js';
import { faultOf } from './faults.js';
import { type ProgramEnd, runProgram } from './process.js';
import { commandOf, withoutPaths } from './programs.js';
import type { Place } from './scratch.js';
import type { Work } from './work.js';

const MAX_REASON = 2_000;
const voteSchema = z.object({ vote: z.enum(['approve', 'reject', 'abstain']), reason: z.string().default('') });

interface Opinion {
  readonly vote: Vote;
  readonly reason: string;
}
const abstain = (reason: string): Opinion => ({ vote: 'abstain', reason });

/** Asks a reviewer about a `review` criterion. */
export async function reviewCriterion(
  work: Work,
  action: { readonly criterion: string; readonly reviewer: string },
  state: ChildState,
  abort: AbortSignal,
  timeoutMs: number,
): Promise<Draft[]> {
  const criterion = work.run.rendered.criteria.find(({ id }) => id === action.criterion);
  if (criterion?.kind !== 'review') throw new Error(`criterion ${action.criterion} is none to review`);
  let opinion: Opinion;
  try {
    const question = await questionAboutAnswer(work, criterion.question, state);
    opinion = await ask(work, action.reviewer, question, abort, timeoutMs);
  } catch (cause) {
    opinion = abstain(faultOf(cause, 'workspace').message);
  }
  return abort.aborted
    ? []
    : [
        {
          type: 'review_returned',
          body: { criterion: criterion.id, reviewer: action.reviewer, ...opinion, usage: NO_SPEND },
        },
      ];
}

export async function reviewLesson(
  work: Work,
  action: { readonly lesson: LedgerRef; readonly reviewer: string },
  state: ChildState,
  abort: AbortSignal,
  timeoutMs: number,
): Promise<Draft[]> {
  const question = questionAboutLesson(work, action.lesson, state);
  const opinion = await ask(work, action.reviewer, question, abort, timeoutMs);
  return abort.aborted
    ? []
    : [
        {
          type: 'lesson_reviewed',
          body: { lesson: action.lesson, reviewer: action.reviewer, ...opinion, usage: NO_SPEND },
        },
      ];
}

/** The vote of one reviewer. One that cannot be asked, or gives no vote, abstains, and the reason says why. */
async function ask(
  work: Work,
  name: string,
  { question, evidence }: Question,
  abort: AbortSignal,
  timeoutMs: number,
): Promise<Opinion> {
  const reviewer = work.run.contract.panel?.reviewers.find((one) => one.name === name);
  if (reviewer === undefined) throw new Error(`the panel has no reviewer ${name}`);
  if (!('command' in reviewer)) return abstain('reviewers with a provider are not part of this version');
  let place: Place | null = null;
  try {
    const argv = await commandOf(work, reviewer.command);
    place = await work.scratch.place();
    const stdin = JSON.stringify({ question: withInstructions(reviewer, question), evidence });
    const end = await runProgram({
      argv,
      cwd: place.workspace,
      env: environmentOf(place),
      stdin,
      timeoutMs,
      stop: abort,
    });
    return opinionOf(work, place, end, timeoutMs);
  } catch (cause) {
    return abstain(faultOf(cause, 'contract').message);
  } finally {
    if (place !== null) await work.scratch.clear(place);
  }
}

function withInstructions({ instructions }: Reviewer, question: string): string {
  return instructions === null ? question : `${instructions}\n\n${question}`;
}

function opinionOf(work: Work, place: Place, end: ProgramEnd, timeoutMs: number): Opinion {
  if (end.kind === 'not_started') return abstain(`the reviewer could not be started (${end.code})`);
  if (end.stopped !== 'no') return abstain(`the reviewer did not answer within ${timeoutMs} ms`);
  if (end.exitCode !== 0) return abstain(`the reviewer ended with ${end.signal ?? `exit code ${end.exitCode}`}`);
  const parsed = voteSchema.safeParse(jsonOf(end.stdout));
  if (!parsed.success) return abstain('the reviewer printed no {"vote", "reason"}');
  const reason = withoutPaths(work, place, parsed.data.reason).toWellFormed();
  return { vote: parsed.data.vote, reason: Array.from(reason).slice(0, MAX_REASON).join('') };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
