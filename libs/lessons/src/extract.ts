import {
  canonicalJson,
  type AgentEvent,
  type JsonObject,
  type LedgerRef,
  type Lesson,
  type Verdict,
} from '#lib/ledger';
import { estimateTokens, lowestTrust, type Trust } from './lesson.js';
import { WORKED_EXAMPLE } from './worked-example.js';

export const MAX_LESSONS_PER_RUN = 3;

/** Where a lesson comes from: all of it that the run knows and the lesson's words do not say. */
export interface Provenance {
  /** Refs of the entries that it rests on, the verdict's among them. */
  readonly evidence: readonly LedgerRef[];
  /** Ids of the criteria that judged the run. */
  readonly criteria: readonly string[];
  /** See {@link labelledBy}. */
  readonly labelledBy: Trust;
  /** Trust of every lesson that the run recalled or cited. */
  readonly recalled: readonly Trust[];
  /** Id of the contract. */
  readonly contract: string;
  readonly case: string | null;
  readonly family: string | null;
  readonly scope: string;
  /** Of the model that wrote it; `null` where none did. */
  readonly model: string | null;
  readonly promptDigest: string | null;
}

export type AgentLesson = Pick<Extract<AgentEvent, { type: 'lesson' }>, 'title' | 'when' | 'when_not' | 'text'>;

/** `panel` when a review criterion was among those that decided, `machine` when all were commands or matches, `agent` when none decided. */
export function labelledBy(kinds: readonly ('command' | 'match' | 'review')[]): Trust {
  if (kinds.length === 0) return 'agent';
  return kinds.includes('review') ? 'panel' : 'machine';
}

/** The agent's own lesson events as lessons: the first three in order of their report, so that a flood later in the run displaces nothing. */
export function lessonsFromAgent(events: readonly AgentEvent[], provenance: Provenance): Lesson[] {
  return events
    .filter((event) => event.type === 'lesson')
    .slice(0, MAX_LESSONS_PER_RUN)
    .map((event) => lessonOf(event, 'agent', provenance));
}

/** What a model wrote of a run, as lessons: its first three. */
export function lessonsFromModel(written: readonly AgentLesson[], provenance: Provenance): Lesson[] {
  return written.slice(0, MAX_LESSONS_PER_RUN).map((words) => lessonOf(words, 'llm', provenance));
}

export interface ExemplarInput {
  readonly instructions: string;
  readonly inputs: JsonObject;
  readonly answer: string;
  /** What decided, as recorded by `criterion_checked`. */
  readonly criteria: readonly { readonly id: string; readonly result: Verdict }[];
}

/**
 * One worked example of the run's own answer: input, answer and how it was judged; `null` without an answer. That it was judged well is for the gate `verdict` to ask.
 * Instructions are cut at 240 characters, and say so; the inputs and the answer are never cut, since a part of an answer was verified by nobody, so an
 * example that is too long is for the check `size` to refuse.
 */
export function exemplarLesson(run: ExemplarInput, provenance: Provenance): Lesson | null {
  if (run.answer.trim() === '') return null;
  const judged = run.criteria.map(({ id, result }) => `${id}: ${result}`).join(', ');
  const hasInputs = Object.keys(run.inputs).length > 0;
  const task = cut(run.instructions.trim().replace(/\s+/gu, ' '), 240);
  const text = [
    WORKED_EXAMPLE,
    `Task: ${task}`,
    ...(hasInputs ? [`Input: ${canonicalJson(run.inputs, 'any')}`] : []),
    `Answer: ${run.answer.trim()}`,
    `Judged: ${judged}`,
  ].join('\n');
  const words = {
    title:
      provenance.family === null
        ? 'A solved example of this task'
        : cut(`A solved example of family ${provenance.family}`, 120),
    when: 'The task and the input are of the same kind.',
    when_not: 'The input differs in what decides the answer.',
    text,
  };
  return lessonOf(words, 'exemplar', provenance);
}

function lessonOf(
  { title, when, when_not, text }: AgentLesson,
  extractor: Lesson['extractor'],
  from: Provenance,
): Lesson {
  return {
    title,
    when,
    when_not,
    text,
    extractor,
    evidence: [...from.evidence],
    criteria: [...from.criteria],
    labelled_by: from.labelledBy,
    model: from.model,
    prompt_digest: from.promptDigest,
    contract: from.contract,
    case: from.case,
    family: from.family,
    scope: from.scope,
    tokens: estimateTokens([title, when, when_not, text].join('\n')),
    trust: lowestTrust(from.labelledBy, ...from.recalled),
    supersedes: [],
  };
}

// By code points, so that no character is cut in two.
function cut(text: string, max: number): string {
  const characters = Array.from(text);
  return characters.length <= max
    ? text
    : `${characters
        .slice(0, max - 2)
        .join('')
        .trimEnd()} …`;
}
