import type { BodyOf, Draft, LedgerRef } from '#lib/ledger';
import { type HeldLesson, renderLayer } from '#lib/lessons';
import { toBlob } from './blob.js';
import type { Work } from './work.js';

type Recalled = BodyOf<'lessons_recalled'>;

/** Verifies the offered lessons, in the order of the offer, and renders those that verify; also records that there were none. */
export async function recallLessons(work: Work): Promise<Draft[]> {
  const held: HeldLesson[] = [];
  const refused: Recalled['refused'] = [];
  for (const lesson of work.run.request.body.lessons) {
    const judged = judge(work, lesson);
    if ('held' in judged) held.push(judged.held);
    else refused.push({ lesson, ...judged });
  }
  const layer = renderLayer(held);
  const body: Recalled = {
    used: held.map(({ ref }, at) => ({ lesson: ref, tokens: layer.tokens[at] ?? 0 })),
    refused,
    layer: await toBlob(layer.text, work),
    layer_digest: layer.digest as Recalled['layer_digest'],
  };
  return [{ type: 'lessons_recalled', body }];
}

/** The lessons that the run recalled, read again from their proofs. */
export function usedLessons(work: Work, recalled: Recalled | null): HeldLesson[] {
  return (recalled?.used ?? []).flatMap(({ lesson }) => {
    const judged = judge(work, lesson);
    return 'held' in judged ? [judged.held] : [];
  });
}

function judge(work: Work, ref: LedgerRef): { held: HeldLesson } | { code: string; reason: string } {
  const proof = work.ports.lessonProof(ref);
  if (proof === undefined) return { code: 'lesson_missing', reason: 'its proof is not at hand' };
  const verified = work.ports.verifyLesson(proof);
  if (!verified.ok) return { code: verified.code, reason: verified.reason };
  const { held } = verified;
  if (held.ref !== ref) return { code: 'lesson_mismatch', reason: 'the proof is of another lesson' };
  const scope = work.run.contract.learning?.scope ?? null;
  if (held.lesson.scope !== scope) return { code: 'scope_mismatch', reason: 'it was learnt for another scope' };
  return { held };
}
