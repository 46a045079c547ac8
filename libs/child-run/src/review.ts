import { z } from 'zod';
import type { Reviewer } from '#lib/contract';
import type { CallState, ChildState } from '#lib/evaluation';
import { type Draft, type LedgerRef, NO_SPEND, type Vote } from '#lib/ledger';
import { answerOf, saidIn } from './calls.js';
import { lastCall, lessonSubject } from './decide-calls.js';
import { environmentOf } from './environment.js';
import { type Question, questionAboutAnswer, questionAboutLesson } from './evidence.js';
import { faultOf } from './faults.js';
import { type ProgramEnd, runProgram } from './process.js';
import { commandOf, withoutPaths } from './programs.js';
import { voteIn } from './review-request.js';
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
): Promise<Draft[]> {
  const criterion = work.run.rendered.criteria.find(({ id }) => id === action.criterion);
  if (criterion?.kind !== 'review') throw new Error(`criterion ${action.criterion} is none to review`);
  const about = { subject: criterion.id, question: () => questionAboutAnswer(work, criterion.question, state) };
  const opinion = await opinionOn(work, action.reviewer, about, state, abort);
  if (abort.aborted) return [];
  const body = { criterion: criterion.id, reviewer: action.reviewer, ...opinion, usage: NO_SPEND };
  return [{ type: 'review_returned', body }];
}

export async function reviewLesson(
  work: Work,
  action: { readonly lesson: LedgerRef; readonly reviewer: string },
  state: ChildState,
  abort: AbortSignal,
): Promise<Draft[]> {
  const { lesson, reviewer } = action;
  const about = { subject: lessonSubject(lesson), question: () => questionAboutLesson(work, lesson, state) };
  const opinion = await opinionOn(work, reviewer, about, state, abort);
  if (abort.aborted) return [];
  return [{ type: 'lesson_reviewed', body: { lesson, reviewer, ...opinion, usage: NO_SPEND } }];
}

interface About {
  readonly subject: string;
  readonly question: () => Question | Promise<Question>;
}

/** The vote of one reviewer: a program is asked now, a model was called before. One that gives no vote abstains, and the reason says why. */
async function opinionOn(
  work: Work,
  name: string,
  { subject, question }: About,
  state: ChildState,
  abort: AbortSignal,
): Promise<Opinion> {
  const reviewer = work.run.contract.panel?.reviewers.find((one) => one.name === name);
  if (reviewer === undefined) throw new Error(`the panel has no reviewer ${name}`);
  try {
    if ('command' in reviewer) return await askProgram(work, reviewer, await question(), abort);
    const call = lastCall(state, { purpose: 'review', subject, reviewer: name });
    if (call === undefined) throw new Error(`the reviewer ${name} was not called`);
    return await replyOf(work, call);
  } catch (cause) {
    return abstain(faultOf(cause, 'workspace').message);
  }
}

// What a model's calls cost stands in their own entries.
async function replyOf(work: Work, call: CallState): Promise<Opinion> {
  const answer = answerOf(call);
  if (answer === null) {
    const reason = typeof call.outcome === 'object' ? call.outcome.body.reason : 'the call was cut short';
    return abstain(`the reviewer's model could not be asked: ${reason}`);
  }
  const vote = voteIn((await saidIn(work, answer)).text);
  return vote === null
    ? abstain('the reviewer answered no {"vote", "reason"}')
    : { ...vote, reason: short(vote.reason) };
}

/** The vote of a program. */
async function askProgram(
  work: Work,
  reviewer: Extract<Reviewer, { command: string[] }>,
  { question, evidence }: Question,
  abort: AbortSignal,
): Promise<Opinion> {
  const timeoutMs = work.limits.reviewMs;
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
  return { vote: parsed.data.vote, reason: short(withoutPaths(work, place, parsed.data.reason)) };
}

function short(reason: string): string {
  return Array.from(reason.toWellFormed()).slice(0, MAX_REASON).join('');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
