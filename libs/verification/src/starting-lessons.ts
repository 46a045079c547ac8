import type { EntryOf } from '#lib/ledger';
import { type HeldLesson, LessonError, readProof, verifyLessonProof } from '#lib/lessons';
import type { Context } from './context.js';
import type { Stored } from './entry-index.js';

/** Step 5: every starting lesson by the proof that the plan pins: signatures, origin's anchor, inclusion, evidence, votes, quorum. */
export async function checkStartingLessons(
  context: Context,
  stored: Stored,
  started: EntryOf<'eval_started'>,
): Promise<HeldLesson[]> {
  const held: HeldLesson[] = [];
  for (const { lesson, proof: ref } of started.body.plan.starting_lessons) {
    const bytes = await context.bodies.bytes(stored, ref, false);
    if (bytes === null) continue;
    try {
      const result = verifyLessonProof(readProof(bytes), { keys: context.keys, expectLesson: lesson });
      context.checked.lessons += 1;
      context.checked.proofs += 1;
      if (result.ok) held.push(result.held);
      else context.findings.error('lesson_unverified', stored, `starting lesson ${lesson}: ${result.reason}`);
    } catch (error) {
      if (!(error instanceof LessonError)) throw error;
      context.findings.error('lesson_unverified', stored, `starting lesson ${lesson}: ${error.message}`);
    }
  }
  return held;
}
