import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import type { Lesson } from '#lib/ledger';
import { LessonError } from './errors.js';
import { lessonWith, refNumbered } from './fixtures.testkit.js';
import type { HeldLesson } from './lesson.js';
import { OFFER_RULE, type OfferInput, offerLessons } from './offer.js';

const held = (n: number, change: Partial<Lesson> = {}): HeldLesson => ({
  ref: refNumbered(n),
  lesson: lessonWith({ title: `Lesson ${n}`, case: `c${n}`, ...change }),
});
const input = (change: Partial<OfferInput> = {}): OfferInput => ({
  rule: OFFER_RULE,
  starting: [],
  anchored: [],
  contract: 'repair',
  caseId: 'c9',
  family: 'loops',
  scope: 'repair',
  max: 5,
  sameCase: 'exclude',
  ...change,
});

describe('the offer rule replicate-chain/v1', () => {
  test('offers nothing from an empty memory', () => {
    expect(offerLessons(input())).toEqual([]);
  });

  test('refuses to guess at a rule that it does not know', () => {
    const unknown = { code: 'offer_rule_unknown' };
    expect(() => offerLessons(input({ rule: 'replicate-chain/v2' }))).toThrow(expect.objectContaining(unknown));
    expect(() => offerLessons(input({ rule: '' }))).toThrow(LessonError);
  });

  test('leaves other scopes out, and what they say supersedes nothing here', () => {
    const starting = [held(1, { scope: 'mail' }), held(2), held(3, { scope: 'mail', supersedes: [refNumbered(2)] })];
    expect(offerLessons(input({ starting }))).toEqual([refNumbered(2)]);
  });

  test("leaves a case's own lessons out, but not those of the same case id in another contract", () => {
    const starting = [held(1, { case: 'c9' }), held(2, { case: 'c9', contract: 'other' }), held(3, { case: null })];
    expect(offerLessons(input({ starting }))).toEqual([refNumbered(2), refNumbered(3)]);
    expect(offerLessons(input({ starting, sameCase: 'allow' }))).toHaveLength(3);
  });

  test('without cases every lesson of the contract is offered', () => {
    expect(offerLessons(input({ starting: [held(1, { case: null })], caseId: null }))).toEqual([refNumbered(1)]);
  });

  test("drops what was superseded, even where the successor is the case's own and is left out", () => {
    const successor = held(2, { case: 'c9', supersedes: [refNumbered(1)] });
    expect(offerLessons(input({ starting: [held(1)], anchored: [{ repeat: 1, lessons: [successor] }] }))).toEqual([]);
  });

  test('of lessons that say the same it keeps the earliest', () => {
    const same = { title: 'One title' };
    const anchored = [
      { repeat: 2, lessons: [held(1, same)] },
      { repeat: 1, lessons: [held(3, same), held(2, same)] },
    ];
    expect(offerLessons(input({ anchored }))).toEqual([refNumbered(2)]);
    expect(offerLessons(input({ anchored, starting: [held(7, same)] }))).toEqual([refNumbered(7)]);
  });

  test('ranks the own family first, then the most recent repeat, then the ref', () => {
    const starting = [held(1), held(2, { family: 'strings' })];
    const anchored = [
      { repeat: 1, lessons: [held(4), held(3)] },
      { repeat: 2, lessons: [held(5), held(6, { family: null })] },
    ];
    const order = [5, 3, 4, 1, 6, 2].map(refNumbered);
    expect(offerLessons(input({ starting, anchored, max: 9 }))).toEqual(order);
    expect(offerLessons(input({ starting, anchored, max: 2 }))).toEqual(order.slice(0, 2));
    expect(offerLessons(input({ starting, anchored, max: 0 }))).toEqual([]);
  });

  test('a run without a family prefers nothing, not even lessons without one', () => {
    const anchored = [
      { repeat: 1, lessons: [held(1, { family: null }), held(2)] },
      { repeat: 2, lessons: [held(3)] },
    ];
    expect(offerLessons(input({ anchored, family: null }))).toEqual([3, 1, 2].map(refNumbered));
  });

  test('depends on the set of its inputs, never on their order', () => {
    const lesson = fc.record({
      n: fc.integer({ min: 1, max: 40 }),
      title: fc.constantFrom('a', 'b', 'c', 'd'),
      family: fc.constantFrom('loops', 'strings', null),
      caseId: fc.constantFrom('c8', 'c9', null),
      supersedes: fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 1 }),
      repeat: fc.integer({ min: 0, max: 3 }),
    });
    const unique = fc.uniqueArray(lesson, { selector: ({ n }) => n, maxLength: 12 });
    const offer = (all: (typeof lesson extends fc.Arbitrary<infer T> ? T : never)[]): string[] => {
      const at = (repeat: number): HeldLesson[] =>
        all
          .filter((one) => one.repeat === repeat)
          .map(({ n, title, family, caseId, supersedes }) =>
            held(n, { title, family, case: caseId, supersedes: supersedes.map(refNumbered) }),
          );
      const repeats = [...new Set(all.map(({ repeat }) => repeat))].filter((repeat) => repeat > 0);
      return offerLessons(
        input({ starting: at(0), anchored: repeats.map((repeat) => ({ repeat, lessons: at(repeat) })) }),
      );
    };
    const pair = unique.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })));
    fc.assert(
      fc.property(pair, ([all, shuffled]) => {
        expect(offer(shuffled)).toEqual(offer(all));
      }),
    );
  });
});
