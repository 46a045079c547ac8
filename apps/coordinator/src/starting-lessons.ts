import type { EvalAccepted } from '#lib/evaluation';
import { type HeldLesson, readProof, verifyLessonProof } from '#lib/lessons';
import type { Ports } from '#lib/runtime';

/** The lessons that an evaluation starts from, or why it cannot: intake lets pass only what verifies. */
export async function startingLessons(
  { request }: EvalAccepted,
  { log, keys }: Pick<Ports, 'log' | 'keys'>,
): Promise<HeldLesson[] | string> {
  const held: HeldLesson[] = [];
  for (const { lesson, proof } of request.starting_lessons) {
    const bytes = await log.attachment(proof.sha256);
    if (bytes === null) return `the proof of starting lesson ${lesson} is not in the log`;
    const verified = verify(bytes, { keys, expectLesson: lesson });
    if (typeof verified === 'string') return `starting lesson ${lesson} does not verify: ${verified}`;
    held.push(verified);
  }
  return held;
}

function verify(bytes: Uint8Array, policy: Parameters<typeof verifyLessonProof>[1]): HeldLesson | string {
  try {
    const verified = verifyLessonProof(readProof(bytes), policy);
    return verified.ok ? verified.held : verified.reason;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
