import type { ChildRecord, ChildState, LessonState } from '#lib/evaluation';
import {
  type Arm,
  type Entry,
  type EntryOf,
  type EntryType,
  type LedgerRef,
  refOf,
  sha256Hex,
  utf8,
} from '#lib/ledger';
import {
  decidePromotion,
  labelledBy,
  lessonDigest,
  lowestTrust,
  MAX_LESSONS_PER_RUN,
  renderLayer,
  type Trust,
} from '#lib/lessons';
import type { Context } from './context.js';
import type { PlannedContract } from './plan-shape.js';
import type { KnownLesson } from './starting-lessons.js';

export interface LessonGround {
  readonly record: ChildRecord;
  readonly arm: Arm;
  readonly contract: PlannedContract;
  /** Lessons whose origin this verification has followed: starting lessons, and those of anchored runs. */
  readonly known: ReadonlyMap<LedgerRef, KnownLesson>;
}

/**
 * Step 8c: what a run recalled is what it was offered, each used or refused, and each one used verified here by its origin; and every lesson
 * that it promoted rests on its own entries and went through the contract's gates. An arm whose memory is off has no entry of either kind.
 */
export function checkLessons(context: Context, chain: readonly Entry[], run: ChildState, ground: LessonGround): void {
  const recalls = chain.filter((entry) => entry.type === 'lessons_recalled');
  const { memory } = ground.arm;
  recalls.forEach((entry, i) => {
    if (memory.recall === 'off')
      context.findings.error('lessons_offered_mismatch', entry, `arm ${ground.arm.name} recalls nothing`);
    else if (i > 0) context.findings.error('lessons_offered_mismatch', entry, 'lessons are recalled a second time');
    else checkRecall(context, entry, ground);
  });
  if (memory.recall === 'verified' && recalls.length === 0 && run.verdict !== null) {
    const at = chain[run.entries - 1] ?? chain[0];
    if (at !== undefined)
      context.findings.error(
        'lessons_offered_mismatch',
        at,
        'the run never recorded what became of the lessons it was offered',
      );
  }
  checkExtraction(context, chain, run, ground);
}

function checkRecall(context: Context, entry: EntryOf<'lessons_recalled'>, { record, known }: LessonGround): void {
  const { used, refused, layer, layer_digest } = entry.body;
  const offered = record.request.body.lessons;
  const named = [...used, ...refused].map(({ lesson }) => lesson);
  if (
    named.length !== offered.length ||
    new Set(named).size !== named.length ||
    offered.some((ref) => !named.includes(ref))
  ) {
    context.findings.error(
      'lessons_offered_mismatch',
      entry,
      'the lessons used and refused are not the lessons offered',
    );
  }
  const held = used.flatMap(({ lesson }) => known.get(lesson) ?? []);
  context.checked.lessons += held.length;
  const unknown = used.find(({ lesson }) => !known.has(lesson));
  const wrong = (message: string): void => context.findings.error('lesson_unverified', entry, message);
  if (unknown !== undefined)
    return wrong(`lesson ${unknown.lesson} was used, and no verified run or bundle brought it`);
  for (const { ref, unfit } of held) {
    const reason = unfit?.get(record.contract);
    if (reason !== undefined) wrong(`lesson ${ref} was used, and does not meet the gates of the contract: ${reason}`);
  }
  const rendered = renderLayer(held);
  if (rendered.digest !== layer_digest) wrong('the context layer is not what the lessons used render to');
  const digest = 'text' in layer ? sha256Hex(utf8(layer.text)) : layer.sha256;
  if (digest !== layer_digest) wrong('the text of the context layer does not have the digest that is stated');
  if (used.some(({ tokens }, i) => tokens !== rendered.tokens[i]))
    wrong('the token counts of the lessons used are not those of their rendering');
}

const ABOUT_LESSONS: ReadonlySet<EntryType> = new Set([
  'lesson_extracted',
  'lesson_checked',
  'lesson_reviewed',
  'lesson_rejected',
  'lesson_promoted',
]);

function checkExtraction(context: Context, chain: readonly Entry[], run: ChildState, ground: LessonGround): void {
  // Nearly every run that learns nothing: no list is made of what its lessons could rest on.
  if (run.lessons.length === 0 && !chain.some(({ type }) => ABOUT_LESSONS.has(type))) return;
  const extracts = ground.arm.memory.extraction === 'on' && ground.contract.learning !== null;
  const promotes = extracts && ground.arm.memory.promotion === 'eager';
  const byRef = new Map<LedgerRef, Entry>();
  for (const entry of chain) {
    const wrong = (message: string): void => context.findings.error('lesson_unverified', entry, message);
    switch (entry.type) {
      case 'lesson_extracted':
        if (!extracts) wrong(`arm ${ground.arm.name} extracts nothing`);
        else checkLesson(entry, byRef, run, ground, wrong);
        break;
      case 'lesson_checked':
      case 'lesson_reviewed':
      case 'lesson_rejected':
      case 'lesson_promoted':
        if (!promotes) wrong(`arm ${ground.arm.name} promotes nothing`);
        else if (byRef.get(entry.body.lesson)?.type !== 'lesson_extracted') wrong('it names no lesson of this run');
        break;
      default:
        break;
    }
    byRef.set(refOf(entry), entry);
  }
  if (run.lessons.length > MAX_LESSONS_PER_RUN) {
    context.findings.error(
      'lesson_unverified',
      { ledger: ground.record.id },
      `the run extracted ${run.lessons.length} lessons, at most ${MAX_LESSONS_PER_RUN} are allowed`,
    );
  }
  if (!promotes) return;
  const seal = run.sealed === null ? undefined : chain.at(-1);
  for (const lesson of run.lessons) {
    checkOutcome(context, chain, lesson, ground.contract);
    if (lesson.outcome === 'open' && seal !== undefined)
      context.findings.error(
        'lesson_unverified',
        seal,
        `the run was sealed before ${lesson.ref} was promoted or rejected`,
      );
  }
}

function checkLesson(
  entry: EntryOf<'lesson_extracted'>,
  before: ReadonlyMap<LedgerRef, Entry>,
  run: ChildState,
  ground: LessonGround,
  wrong: (message: string) => void,
): void {
  const { record, contract } = ground;
  const { lesson, digest } = entry.body;
  if (lessonDigest(lesson) !== digest) wrong('the digest is not that of the lesson');
  if (lesson.evidence.some((ref) => !before.has(ref)))
    wrong('the lesson rests on evidence that is not before it in this run');
  if (!lesson.evidence.some((ref) => before.get(ref)?.type === 'verdict'))
    wrong('the lesson does not rest on the verdict of the run');
  const family = contract.cases.find(({ id }) => id === record.request.body.case)?.family ?? null;
  if (
    lesson.contract !== contract.id ||
    lesson.case !== record.request.body.case ||
    lesson.family !== family ||
    lesson.scope !== contract.learning?.scope
  ) {
    wrong('contract, case, family or scope of the lesson are not those of the run');
  }
  if (lesson.extractor !== contract.learning?.extractor)
    wrong(`the lesson was extracted by ${lesson.extractor}, and the contract has another extractor`);
  const label = labelOf(run, contract);
  if (lesson.labelled_by !== label) wrong(`the lesson says that ${lesson.labelled_by} labelled it; that was ${label}`);
  const trust = lowestTrust(label, ...recalledTrust(run, ground));
  if (lesson.trust !== trust) wrong(`the lesson claims the trust ${lesson.trust}; what it comes from has ${trust}`);
}

/** By the criteria that decided. */
function labelOf(run: ChildState, contract: PlannedContract): Trust {
  const decided = contract.criteria.filter(({ id }) => {
    const result = run.criteria.get(id)?.result;
    return result === 'pass' || result === 'fail';
  });
  return labelledBy(decided.map(({ kind }) => kind));
}

function recalledTrust(run: ChildState, { known }: LessonGround): Trust[] {
  return (run.recalled?.body.used ?? []).flatMap(({ lesson: ref }) => known.get(ref)?.lesson.trust ?? []);
}

/** The entries about one lesson lead by the contract's gates to the outcome that was recorded, and to no other. */
function checkOutcome(context: Context, chain: readonly Entry[], lesson: LessonState, contract: PlannedContract): void {
  const outcomes = chain.filter(
    (entry) =>
      (entry.type === 'lesson_promoted' || entry.type === 'lesson_rejected') && entry.body.lesson === lesson.ref,
  );
  const [outcome, second] = outcomes;
  if (outcome === undefined) return;
  const wrong = (message: string, at: Entry = outcome): void =>
    context.findings.error('lesson_unverified', at, message);
  if (second !== undefined) wrong('the lesson has two outcomes', second);
  const { checks, votes } = lesson;
  const quorum = contract.panel?.quorum ?? 0;
  const names = contract.panel?.reviewers.map(({ name }) => name) ?? [];
  if (new Set(votes.map(({ reviewer }) => reviewer)).size !== votes.length)
    wrong('a reviewer voted twice on the lesson');
  if (votes.some(({ reviewer }) => !names.includes(reviewer)))
    wrong('somebody who is not of the panel voted on the lesson');
  const gates = contract.learning?.gates ?? [];
  const decision = decidePromotion(gates, { checks, votes, quorum, reviewers: names.length });
  const said = outcome.type === 'lesson_promoted' ? 'promoted' : 'rejected';
  if (decision.kind !== said)
    return wrong(
      `the lesson is ${said}; its checks and votes make it ${decision.kind === 'next' ? 'undecided' : decision.kind}`,
    );
  if (outcome.type === 'lesson_rejected') {
    if (decision.kind === 'rejected' && outcome.body.gate !== decision.gate)
      wrong(`the lesson is rejected at gate ${outcome.body.gate}; it failed at ${decision.gate}`);
    return;
  }
  if (outcome.type !== 'lesson_promoted') return;
  context.checked.lessons += 1;
  const { body } = outcome;
  if (!sameList(body.gates, gates) || body.quorum !== quorum) wrong("gates or quorum are not the contract's");
  if (!sameList(body.checks, refsOf(checks)) || !sameList(body.votes, refsOf(votes)))
    wrong('the promotion does not list the checks and votes that were recorded');
  verdictGateHolds(chain, lesson, wrong);
}

function verdictGateHolds(chain: readonly Entry[], lesson: LessonState, wrong: (message: string) => void): void {
  const verdict = chain.find((entry) => entry.type === 'verdict');
  const gate = lesson.checks.find((check) => check.gate === 'verdict');
  if (gate !== undefined && gate.passed !== (verdict?.type === 'verdict' && verdict.body.verdict === 'pass')) {
    wrong('the gate "verdict" says otherwise than the verdict of the run');
  }
}

function refsOf(all: readonly { readonly ref: LedgerRef }[]): LedgerRef[] {
  return all.map(({ ref }) => ref);
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
