import type { EntryOf, Plan } from '#lib/ledger';
import {
  type HeldLesson,
  LessonError,
  type LessonProof,
  readProof,
  recallPolicy,
  verifyLessonProof,
} from '#lib/lessons';
import type { Context } from './context.js';
import type { Stored } from './entry-index.js';
import { contractOf } from './plan-shape.js';

/** A lesson whose origin this verification has followed. */
export interface KnownLesson extends HeldLesson {
  /** By the number of each contract whose gates and quorum its promotion does not meet, why: no run of it may use the lesson. A contract's own lessons went through its gates. */
  readonly unfit?: ReadonlyMap<number, string>;
}

/** Step 5: every starting lesson by the proof that the plan pins: signatures, origin's anchor, inclusion, evidence, votes, quorum. */
export async function checkStartingLessons(
  context: Context,
  stored: Stored,
  started: EntryOf<'eval_started'>,
): Promise<KnownLesson[]> {
  const held: KnownLesson[] = [];
  const { plan } = started.body;
  for (const { lesson, proof: ref } of plan.starting_lessons) {
    const bytes = await context.bodies.bytes(stored, ref, false);
    if (bytes === null) continue;
    try {
      const proof = readProof(bytes);
      const result = verifyLessonProof(proof, { keys: context.keys, expectLesson: lesson });
      context.checked.lessons += 1;
      context.checked.proofs += 1;
      if (result.ok) held.push({ ...result.held, unfit: unfitFor(context, plan, proof) });
      else context.findings.error('lesson_unverified', stored, `starting lesson ${lesson}: ${result.reason}`);
    } catch (error) {
      if (!(error instanceof LessonError)) throw error;
      context.findings.error('lesson_unverified', stored, `starting lesson ${lesson}: ${error.message}`);
    }
  }
  return held;
}

/** Judged once for contracts that ask for the same. */
function unfitFor({ keys }: Context, plan: Plan, proof: LessonProof): ReadonlyMap<number, string> {
  const reasons = new Map<string, string | null>();
  const unfit = new Map<number, string>();
  for (const no of plan.contracts.keys()) {
    const policy = recallPolicy(contractOf(plan, no));
    const asked = `${policy.gates.join(' ')} ${policy.quorum}`;
    let reason = reasons.get(asked);
    if (reason === undefined) {
      const result = verifyLessonProof(proof, { keys, ...policy });
      reason = result.ok ? null : result.reason;
      reasons.set(asked, reason);
    }
    if (reason !== null) unfit.set(no, reason);
  }
  return unfit;
}
