import {
  attachedBody,
  canonicalJson,
  envelopeSchema,
  type Entry,
  EVAL_RUN_ID,
  type EvalRunId,
  fromHex,
  inclusionProof,
  LEDGER_REF,
  type LedgerRef,
  refOf,
  toBase64,
  toEnvelope,
  utf8,
  utf8Decode,
} from '#lib/ledger';
import { z } from 'zod';
import { LessonError } from './errors.js';

/**
 * One line of a bundle: everything by which a stranger with the trust store judges one lesson.
 * `entries` are of the child ledger that the lesson comes from, in order: `run_started`, the lesson's evidence, its `lesson_extracted`, and every
 * `lesson_checked`, `lesson_reviewed`, `lesson_promoted` and `lesson_rejected` that names it. `proof` is an RFC 6962 inclusion
 * proof (base64, leaf to root) of entry `seq` in the tree of `size` entries whose root the `anchor`, the origin's `child_anchor`, signs.
 * `attachments` (base64) are the bodies over 64 KiB of these entries; of evidence they are left out, since transcripts may be erased.
 */
export const lessonProofSchema = z.strictObject({
  v: z.literal(1),
  lesson: z
    .string()
    .regex(LEDGER_REF)
    .transform((text) => text as LedgerRef),
  evaluation: z
    .string()
    .regex(EVAL_RUN_ID)
    .transform((text) => text as EvalRunId),
  anchor: envelopeSchema,
  size: z.int().min(1),
  entries: z
    .array(z.strictObject({ seq: z.int().min(0), envelope: envelopeSchema, proof: z.array(z.string()) }))
    .min(1),
  attachments: z.array(z.string()),
});
export type LessonProof = z.output<typeof lessonProofSchema>;

/** Entries about a lesson: they name it in `lesson`. */
const ABOUT = ['lesson_checked', 'lesson_reviewed', 'lesson_promoted', 'lesson_rejected'] as const;
type About = Extract<Entry, { type: (typeof ABOUT)[number] }>;

export function isAboutLesson(entry: Entry): entry is About {
  return (ABOUT as readonly string[]).includes(entry.type);
}

/**
 * The proof of a lesson, from the whole live chain of its child and the joined `child_anchor` of it. Judges nothing: that is for `verifyLessonProof`.
 * @throws LessonError `lesson_not_in_chain` where the chain is not the anchored one, or does not hold the lesson or its evidence
 */
export function buildLessonProof(lesson: LedgerRef, childEntries: readonly Entry[], anchor: Entry): LessonProof {
  const refs = childEntries.map(refOf);
  const extracted = childEntries[refs.indexOf(lesson)];
  if (extracted?.type !== 'lesson_extracted') throw notInChain(`no lesson of this chain is named ${lesson}`);
  if (
    anchor.type !== 'child_anchor' ||
    anchor.body.entries !== childEntries.length ||
    anchor.body.head_hash !== childEntries.at(-1)?.hash
  ) {
    throw notInChain(`the anchor given for ${lesson} does not end this chain`);
  }
  const evidence = new Set<LedgerRef>(extracted.body.lesson.evidence);
  const missing = [...evidence].find((ref) => !refs.includes(ref));
  if (missing !== undefined) throw notInChain(`evidence ${missing} of ${lesson} is not in its chain`);
  const judged = childEntries.filter(
    (entry) =>
      entry.seq === 0 ||
      entry === extracted ||
      entry.type === 'verdict' ||
      (isAboutLesson(entry) && entry.body.lesson === lesson),
  );
  const proven = childEntries.filter((entry, at) => judged.includes(entry) || evidence.has(refs[at] as LedgerRef));
  const leaves = childEntries.map(({ hash }) => fromHex(hash));
  return {
    v: 1,
    lesson,
    evaluation: anchor.eval,
    anchor: toEnvelope(anchor.envelope),
    size: childEntries.length,
    entries: proven.map(({ seq, envelope }) => ({
      seq,
      envelope: toEnvelope(envelope),
      proof: inclusionProof(leaves, seq).map(toBase64),
    })),
    attachments: [anchor, ...judged].flatMap(attachmentOf),
  };
}

// An attachment is the JCS text of the body, and a typed entry has the body but not its attachment's name.
function attachmentOf(entry: Entry): string[] {
  const { body } = JSON.parse(utf8Decode(entry.envelope.payload));
  return attachedBody({ ...entry, body }) === null ? [] : [toBase64(utf8(canonicalJson(entry.body)))];
}

function notInChain(what: string): LessonError {
  return new LessonError(
    'lesson_not_in_chain',
    `${what}: give the whole live chain of the lesson's child run and its anchor.`,
  );
}
