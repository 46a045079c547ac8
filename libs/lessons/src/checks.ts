import type { Lesson, Verdict } from '#lib/ledger';
import { CHECKS, type CheckName, VERDICT_CHECK } from './check-names.js';
import { words } from './fold.js';
import { instructionIn } from './instructions.js';
import { contentDigest, type HeldLesson } from './lesson.js';
import { type CaseAnswers, repeatedCriterion, repeatedLine, revealedCase } from './overlap.js';
import { isWorkedExample } from './worked-example.js';

export const MAX_TITLE = 120;
export const MAX_CONDITION = 300;
export const MAX_TEXT = 1200;
const MAX_SENTENCES = 3;
const NEAR_DUPLICATE = 0.9;

/** What the checks hold a lesson against. */
export interface CheckContext {
  /** Lessons held already: recalled by the run, or extracted from it before this one. */
  readonly held: readonly HeldLesson[];
  /** The criteria as the contract writes them, its templates not filled in: questions, commands, expressions. */
  readonly criteria: readonly string[];
  /** All cases of the contract: they say what is a label. */
  readonly cases: readonly CaseAnswers[];
  /** Ids of the cases to which the lesson could still be offered. */
  readonly toCome: readonly string[];
  /** Texts of the protected files. */
  readonly protectedFiles: readonly string[];
}

export interface CheckResult<Name extends string = CheckName> {
  readonly check: Name;
  readonly passed: boolean;
  readonly reason: string;
}

/** The gate `verdict`: a lesson rests on a run that passed. A fail, and what could not be decided, support nothing. */
export function verdictGate(run: { readonly verdict: Verdict }): CheckResult<'verdict'> {
  const passed = run.verdict === 'pass';
  return {
    check: VERDICT_CHECK,
    passed,
    reason: passed ? 'the run passed' : `the verdict of the run is ${run.verdict}`,
  };
}

/** The gate `checks`: every check in order, cheapest first, up to the first that fails. Deterministic: the same lesson and context always give the same answer. */
export function runChecks(lesson: Lesson, context: CheckContext): CheckResult[] {
  const results: CheckResult[] = [];
  for (const check of CHECKS) {
    const fault = faultOf(check, lesson, context);
    results.push({ check, passed: fault === null, reason: fault ?? PASSED[check] });
    if (fault !== null) break;
  }
  return results;
}

const PASSED: Readonly<Record<CheckName, string>> = {
  size: 'within the limits',
  duplicate: 'no lesson held says the same',
  criteria_overlap: 'it repeats no criterion',
  expected_answers: 'it contains no expected answer of a case to come',
  protected_overlap: 'it repeats no line of a protected file',
  instructions: 'it reads as no instruction to a reviewer, a tool or a system',
};

function faultOf(check: CheckName, lesson: Lesson, context: CheckContext): string | null {
  switch (check) {
    case 'size':
      return sizeFault(lesson);
    case 'duplicate':
      return duplicateFault(lesson, context.held);
    case 'criteria_overlap':
      return repeatedCriterion(allText(lesson), context.criteria) === null
        ? null
        : 'it repeats the text of a criterion';
    case 'expected_answers': {
      const revealed = revealedCase(allText(lesson), context.cases, context.toCome);
      return revealed === null ? null : `it contains the expected answer of case ${revealed}, which is still to come`;
    }
    case 'protected_overlap':
      return repeatedLine(allText(lesson), context.protectedFiles) === null
        ? null
        : 'it repeats a line of a protected file';
    case 'instructions': {
      const found = instructionIn(allText(lesson));
      return found === null ? null : `it reads as an instruction: ${found}`;
    }
    default:
      return check satisfies never;
  }
}

/** Lengths are counted in Unicode code points. */
function sizeFault(lesson: Lesson): string | null {
  const { title, when, when_not, text } = lesson;
  const parts = [
    ['title', title, MAX_TITLE],
    ['when', when, MAX_CONDITION],
    ['when_not', when_not, MAX_CONDITION],
    ['text', text, MAX_TEXT],
  ] as const;
  for (const [name, part, max] of parts) {
    if (Array.from(part).length > max) return `the ${name} has more than ${max} characters`;
    if (!part.isWellFormed()) return `the ${name} is not Unicode text`;
    if ((name === 'text' ? /[^\P{Cc}\n\r\t]|[\u2028\u2029]/u : /[\p{Cc}\u2028\u2029]/u).test(part))
      return `the ${name} contains a control character`;
  }
  if (title.trim() === '') return 'it has no title';
  if (text.trim() === '') return 'it has no text';
  if (!isWorkedExample(lesson) && sentences(text) > MAX_SENTENCES)
    return `the text has more than ${MAX_SENTENCES} sentences and is no worked example`;
  return null;
}

// A line is at least a sentence; so is what a capital follows.
function sentences(text: string): number {
  const breaks = /(?<=[.!?…][)\]"'’”`]*)\s+(?=[\p{Lu}\p{Lo}"'“‘(`])|(?<=[。！？])\s*|\n+/u;
  return text.split(breaks).filter((sentence) => /[\p{L}\p{N}]/u.test(sentence)).length;
}

function duplicateFault(lesson: Lesson, held: readonly HeldLesson[]): string | null {
  const digest = contentDigest(lesson);
  const own = new Set(words(saying(lesson)));
  for (const other of held) {
    if (lesson.supersedes.includes(other.ref)) continue;
    if (contentDigest(other.lesson) === digest) return `the same as ${other.ref}`;
    if (isOtherExample(lesson, other.lesson)) continue;
    if (jaccard(own, new Set(words(saying(other.lesson)))) >= NEAR_DUPLICATE) return `nearly the same as ${other.ref}`;
  }
  return null;
}

/** Worked examples of one task repeat its words; what they say is the input and its answer. */
function isOtherExample(a: Lesson, b: Lesson): boolean {
  const [one, two] = [a, b].map((lesson) =>
    isWorkedExample(lesson) ? /^Input: .*$/mu.exec(lesson.text)?.[0] : undefined,
  );
  return one !== undefined && two !== undefined && one !== two;
}

function saying({ title, when, text }: Lesson): string {
  return `${title}\n${when}\n${text}`;
}

function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const shared = [...a].filter((word) => b.has(word)).length;
  return a.size + b.size === 0 ? 1 : shared / (a.size + b.size - shared);
}

function allText({ title, when, when_not, text }: Lesson): string {
  return [title, when, when_not, text].join('\n');
}
