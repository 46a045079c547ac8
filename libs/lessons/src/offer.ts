import { type LedgerRef, parseLedgerRef } from '#lib/ledger';
import { LessonError } from './errors.js';
import { contentDigest, type HeldLesson } from './lesson.js';

/** The rule that `eval_started` names in `offer_rule`. Another rule gets another name: this one never changes. */
export const OFFER_RULE = 'replicate-chain/v1';

/** The promoted lessons of one anchored repeat. */
export interface AnchoredLessons {
  /** Position of the repeat in its replicate, from 1. */
  readonly repeat: number;
  readonly lessons: readonly HeldLesson[];
}

export interface OfferInput {
  /** The plan's `offer_rule`. */
  readonly rule: string;
  /** The plan's starting lessons. */
  readonly starting: readonly HeldLesson[];
  /** The anchored repeats of the same replicate and arm, in any order. */
  readonly anchored: readonly AnchoredLessons[];
  /** Of the run that is to be requested: id of its contract, its case and the case's family. */
  readonly contract: string;
  readonly caseId: string | null;
  readonly family: string | null;
  readonly scope: string;
  /** At most so many are offered. */
  readonly max: number;
  readonly sameCase: 'exclude' | 'allow';
}

interface Candidate extends HeldLesson {
  readonly repeat: number;
}

/**
 * The lessons offered to a run, in order of rank: `replicate-chain/v1`.
 *
 * 1. Candidates are the starting lessons, as of repeat 0, and the promoted lessons of the anchored repeats.
 * 2. Only candidates whose `scope` equals `scope` stay.
 * 3. A candidate whose ref stands in the `supersedes` of any that stayed goes. (So it stays away even where its successor is left out by step 4.)
 * 4. With `sameCase` = `exclude` and a run that has a case, candidates with the run's `contract` and `case` go. A lesson
 *    without a case is never left out by this step.
 * 5. Of candidates with one content digest (title, when, when_not, text) only the earliest stays: lowest repeat, then lowest ref.
 * 6. Rank: those of the run's own family first (a run without a family has none of its own); then the highest repeat first;
 *    then the lowest ref. The first `max` are offered.
 *
 * Refs are compared by ledger, then by seq as a number, then by hash; texts by UTF-16 code units. The answer depends on the set of the inputs, never on their order.
 * @throws LessonError `offer_rule_unknown` for any other rule
 */
export function offerLessons(input: OfferInput): LedgerRef[] {
  if (input.rule !== OFFER_RULE) {
    throw new LessonError(
      'offer_rule_unknown',
      `This version knows the offer rule ${OFFER_RULE}, not ${JSON.stringify(input.rule)}: use one that does.`,
    );
  }
  const inScope = candidates(input).filter(({ lesson }) => lesson.scope === input.scope);
  const superseded = new Set(inScope.flatMap(({ lesson }) => lesson.supersedes));
  const eligible = inScope.filter((candidate) => !superseded.has(candidate.ref) && !isOwnCase(candidate, input));
  const ownFamily = ({ lesson }: Candidate): number =>
    input.family !== null && lesson.family === input.family ? 0 : 1;
  return distinct(eligible)
    .sort((a, b) => ownFamily(a) - ownFamily(b) || b.repeat - a.repeat || byRef(a, b))
    .slice(0, input.max)
    .map(({ ref }) => ref);
}

function candidates({ starting, anchored }: OfferInput): Candidate[] {
  const started = starting.map((held) => ({ ...held, repeat: 0 }));
  return [...started, ...anchored.flatMap(({ repeat, lessons }) => lessons.map((held) => ({ ...held, repeat })))];
}

function isOwnCase({ lesson }: Candidate, { sameCase, contract, caseId }: OfferInput): boolean {
  return sameCase === 'exclude' && caseId !== null && lesson.contract === contract && lesson.case === caseId;
}

function distinct(all: readonly Candidate[]): Candidate[] {
  const byContent = new Map<string, Candidate>();
  for (const candidate of all.toSorted((a, b) => a.repeat - b.repeat || byRef(a, b))) {
    const digest = contentDigest(candidate.lesson);
    if (!byContent.has(digest)) byContent.set(digest, candidate);
  }
  return [...byContent.values()];
}

// A take-over shifts every later seq by one, and as text #9 comes after #10: only the number keeps lessons of one run in their order.
function byRef(a: HeldLesson, b: HeldLesson): number {
  const [one, two] = [parseLedgerRef(a.ref), parseLedgerRef(b.ref)];
  return byText(one.ledger, two.ledger) || one.seq - two.seq || byText(one.hash, two.hash);
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
