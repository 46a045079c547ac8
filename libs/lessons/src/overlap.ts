import { fold, words } from './fold.js';

/** A case of a contract, as the checks need it. */
export interface CaseAnswers {
  readonly id: string;
  /** JSON values by name. */
  readonly expected: Readonly<Record<string, unknown>>;
}

const SHARED_WORDS = 8;
const SHARED_CHARACTERS = 40;
const WHOLE_CRITERION = 24;
const PROTECTED_LINE = 24;
const PROTECTED_WORDS = 4;
const SQUEEZED_ANSWER = 6;

/**
 * The first criterion text of which the lesson repeats at least 8 words in a row, 40 characters in a row, or all of it where it has at
 * least 24 characters; `null` when there is none. Both are folded, and white space counts as one blank.
 */
export function repeatedCriterion(text: string, criteria: readonly string[]): string | null {
  const line = oneLine(text);
  const own = words(text);
  const phrases = new Set(windows(own, SHARED_WORDS).map((run) => run.join(' ')));
  const passages = new Set(windows(Array.from(line), SHARED_CHARACTERS).map((run) => run.join('')));
  for (const criterion of criteria) {
    const whole = oneLine(criterion);
    const characters = Array.from(whole);
    if (characters.length >= WHOLE_CRITERION && line.includes(whole)) return criterion;
    if (windows(characters, SHARED_CHARACTERS).some((run) => passages.has(run.join('')))) return criterion;
    if (windows(words(criterion), SHARED_WORDS).some((run) => phrases.has(run.join(' ')))) return criterion;
  }
  return null;
}

/**
 * The id of the first case in `toCome` an expected answer of which the lesson contains; `null` when there is none.
 *
 * An answer is every text, number and boolean in `expected`, at any depth. One that at least two cases expect is a label of a closed set: naming a
 * label tells nobody which case it belongs to, so labels are excepted. (With a single case nothing is a label.)
 * Contained means: the words of the answer stand in the lesson in a row, whatever is between them; or its letters and digits do, where they are at
 * least six; or, for an answer without letters and digits, its characters do, where they are at least three.
 */
export function revealedCase(text: string, cases: readonly CaseAnswers[], toCome: readonly string[]): string | null {
  const expectedBy = new Map<string, number>();
  for (const { expected } of cases) {
    for (const key of new Set(answersIn(expected).map(answerKey))) expectedBy.set(key, (expectedBy.get(key) ?? 0) + 1);
  }
  const own = words(text);
  const spoken = ` ${own.join(' ')} `;
  const squeezed = own.join('');
  const line = oneLine(text).replaceAll(' ', '');
  const contains = (answer: string): boolean => {
    const parts = words(answer);
    if (parts.length === 0) {
      const symbols = oneLine(answer).replaceAll(' ', '');
      return symbols.length >= 3 && line.includes(symbols);
    }
    const joined = parts.join('');
    return spoken.includes(` ${parts.join(' ')} `) || (joined.length >= SQUEEZED_ANSWER && squeezed.includes(joined));
  };
  const awaited = new Set(toCome);
  const found = cases.find(
    ({ id, expected }) =>
      awaited.has(id) &&
      answersIn(expected).some((answer) => (expectedBy.get(answerKey(answer)) ?? 0) < 2 && contains(answer)),
  );
  return found?.id ?? null;
}

/**
 * The first line of a protected file that the lesson repeats; `null` when there is none. Only lines that say something are
 * looked for: at least 24 characters and four words, and no import. Both are folded, and white space counts as one blank.
 */
export function repeatedLine(text: string, files: readonly string[]): string | null {
  const line = oneLine(text);
  for (const file of files) {
    for (const raw of file.split(/\r\n|[\n\r\u2028\u2029]/u)) {
      const folded = oneLine(raw);
      if (folded.length < PROTECTED_LINE || /^(?:import|from|export \* from|#include|using|require)\b/u.test(folded))
        continue;
      if (line.includes(folded) && words(raw).length >= PROTECTED_WORDS) return raw.trim();
    }
  }
  return null;
}

function oneLine(text: string): string {
  return fold(text).replace(/\s+/gu, ' ').trim();
}

function answerKey(answer: string): string {
  return oneLine(answer);
}

function answersIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)];
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(answersIn);
  return [];
}

function windows<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.max(0, all.length - size + 1) }, (_, at) => all.slice(at, at + size));
}
