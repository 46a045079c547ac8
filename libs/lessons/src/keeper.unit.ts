import { describe, expect, test } from 'vitest';
import type { ChildRunId, Entry } from '#lib/ledger';
import { drafts, keys, startedEvaluation } from '../../event-log/src/fixtures.testkit.js';
import { type Ran, runWithLesson } from './fixtures.testkit.js';
import { ProofKeeper } from './keeper.js';
import { promotedLessons } from './promoted.js';
import { verifyLessonProof } from './verify-proof.js';

const [first, second] = [2, 3];
function watch(keeper: ProofKeeper, { parent, chain }: Ran): void {
  for (const entry of [...parent.slice(0, 2), ...chain, ...parent.slice(2)]) keeper.observe(entry, 'joined');
}
const childOf = ({ chain }: Ran): ChildRunId => chain[0]!.ledger as ChildRunId;

describe('the proof keeper', () => {
  test('gives the proof of a promoted lesson from the moment its child is anchored', async () => {
    const ran = await runWithLesson();
    const keeper = new ProofKeeper();
    for (const entry of [...ran.parent.slice(0, 2), ...ran.chain]) keeper.observe(entry, 'joined');
    expect(keeper.proof(ran.lesson)).toBeUndefined();
    keeper.observe(ran.anchor, 'joined');
    expect(verifyLessonProof(keeper.proof(ran.lesson)!, { keys, expectLesson: ran.lesson })).toMatchObject({
      ok: true,
    });
    expect(keeper.lessonsOf(childOf(ran))).toEqual(promotedLessons(ran.chain));
  });

  test('takes in nothing that was superseded or came twice', async () => {
    const ran = await runWithLesson();
    const keeper = new ProofKeeper();
    for (const entry of [...ran.parent.slice(0, 2), ...ran.chain]) {
      keeper.observe(entry, 'superseded');
      keeper.observe(entry, 'joined');
      keeper.observe(entry, 'duplicate');
    }
    keeper.observe(ran.anchor, 'superseded');
    expect(keeper.proof(ran.lesson)).toBeUndefined();
    keeper.observe(ran.anchor, 'joined');
    expect(verifyLessonProof(keeper.proof(ran.lesson)!, { keys })).toMatchObject({ ok: true });
  });

  test.each(['rejected', 'neither', 'both'] as const)('keeps nothing of a lesson that ended as %s', async (end) => {
    const ran = await runWithLesson({ end });
    const keeper = new ProofKeeper();
    watch(keeper, ran);
    expect([keeper.proof(ran.lesson), keeper.lessonsOf(childOf(ran))]).toEqual([undefined, []]);
  });

  test('holds a promoted lesson that cannot be proven, so that it is offered and refused, and does not throw', async () => {
    const ran = await runWithLesson({
      evidence: (own) => [
        ...own,
        `${own[0]!.slice(0, -1)}${own[0]!.endsWith('0') ? '1' : '0'}` as (typeof own)[number],
      ],
    });
    const keeper = new ProofKeeper();
    watch(keeper, ran);
    expect(keeper.lessonsOf(childOf(ran)).map(({ ref }) => ref)).toEqual([ran.lesson]);
    expect(keeper.proof(ran.lesson)).toBeUndefined();
  });

  test('forgets one replicate and keeps the others', async () => {
    const one = await runWithLesson({ replicate: first });
    const other = await runWithLesson({ evaluation: one.anchor.eval, replicate: second });
    const keeper = new ProofKeeper();
    watch(keeper, one);
    watch(keeper, other);
    keeper.forgetReplicate(one.anchor.eval, first);
    expect([keeper.proof(one.lesson), keeper.lessonsOf(childOf(one))]).toEqual([undefined, []]);
    expect(keeper.proof(other.lesson)).toBeDefined();
    keeper.forgetEvaluation(one.anchor.eval);
    expect(keeper.proof(other.lesson)).toBeUndefined();
  });

  test('lets go of the open children of an evaluation that closes', async () => {
    const ran = await runWithLesson();
    const keeper = new ProofKeeper();
    for (const entry of ran.chain) keeper.observe(entry, 'joined');
    const { parent } = await startedEvaluation(ran.anchor.eval);
    keeper.observe((await parent.next(drafts.closed())).entry satisfies Entry, 'joined');
    keeper.observe(ran.anchor, 'joined');
    expect(keeper.proof(ran.lesson)).toBeUndefined();
  });
});
