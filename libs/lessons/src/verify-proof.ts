import {
  attachedBody,
  type DsseEnvelope,
  type EntryOf,
  type EntryType,
  fromBase64,
  fromEnvelope,
  fromHex,
  type KeyRing,
  LedgerError,
  type LedgerId,
  type LedgerKind,
  leafHash,
  mayWrite,
  openEntry,
  type OpenedEntry,
  refOf,
  sha256Hex,
  typedEntry,
  verifyInclusion,
} from '#lib/ledger';
import { type HeldLesson, lessonDigest, trustRank } from './lesson.js';
import {
  checkPromotion,
  must,
  type ProofFault,
  type ProofPolicy,
  Refused,
  thePromotion,
  theVerdict,
} from './promotion-proof.js';
import type { LessonProof } from './proof.js';

export type ProofResult =
  | {
      readonly ok: true;
      readonly held: HeldLesson;
      readonly verdict: EntryOf<'verdict'>;
      readonly promotion: EntryOf<'lesson_promoted'>;
      readonly anchor: EntryOf<'child_anchor'>;
    }
  | { readonly ok: false; readonly code: 'lesson_unverified'; readonly fault: ProofFault; readonly reason: string };

type Accepted = Extract<ProofResult, { ok: true }>;

/**
 * Judges one lesson by its proof alone. It holds when
 * the anchor is a coordinator's `child_anchor` in the evaluation's own ledger; every entry is an executor's, in the child that the anchor
 * names, and is by its inclusion proof at its `seq` in the tree whose root the anchor signs; the lesson has the digest that was signed; all
 * its evidence is proven and earlier, with the run's one verdict in it, which is a pass where the gate `verdict` was gone through; the trust it
 * claims is not above who labelled it; it was promoted once and not rejected; the promotion lists exactly the checks and votes that
 * are here, each once and earlier than itself; every check that its gates consist of is here and passed; and approvals of distinct reviewers reach the quorum.
 *
 * What it cannot show: that nothing was left out. A proof without a `lesson_rejected` that exists is a lie only of an executor that signed both, and
 * reading the whole ledger (`verifyEvaluation`) finds it. Nor does it say that a lesson is true. Never throws.
 */
export function verifyLessonProof(proof: LessonProof, policy: ProofPolicy): ProofResult {
  try {
    return judge(proof, policy);
  } catch (error) {
    if (error instanceof Refused) return refusal(error.fault, error.message);
    if (error instanceof LedgerError)
      return refusal(error.code.startsWith('attachment') ? 'attachment' : 'malformed', error.message);
    throw error;
  }
}

function refusal(fault: ProofFault, reason: string): ProofResult {
  return { ok: false, code: 'lesson_unverified', fault, reason: `${fault}: ${reason}` };
}

function judge(proof: LessonProof, policy: ProofPolicy): Accepted {
  must(
    policy.expectLesson === undefined || policy.expectLesson === proof.lesson,
    'lesson_ref',
    `it proves ${proof.lesson}, not the lesson asked for`,
  );
  const attachments = new Map(proof.attachments.map((text) => [sha256Hex(fromBase64(text)), fromBase64(text)]));
  const anchor = originAnchor(proof, policy.keys, attachments);
  const proven = provenEntries(proof, policy.keys, anchor);
  const typed = proven
    .filter(({ type }) => JUDGED.has(type))
    .map((entry) => typedEntry(entry, attachments.get(attachedBody(entry)?.sha256 ?? '')));
  must(typed[0]?.type === 'run_started' && typed[0].seq === 0, 'evidence', 'the run_started of the child is missing');
  const extracted = typed.find((entry) => refOf(entry) === proof.lesson);
  must(extracted?.type === 'lesson_extracted', 'lesson_ref', `no lesson_extracted here is ${proof.lesson}`);
  const { lesson, digest } = extracted.body;
  must(lessonDigest(lesson) === digest, 'digest', 'the lesson does not have the digest that its entry states');
  must(
    trustRank(lesson.trust) <= trustRank(lesson.labelled_by),
    'trust',
    `it claims ${lesson.trust}, but was labelled by ${lesson.labelled_by}`,
  );
  const promotion = thePromotion(typed, extracted);
  checkPromotion(typed, promotion, policy);
  const verdict = theVerdict(typed, proven, extracted, anchor, promotion.body.gates);
  return { ok: true, held: { ref: proof.lesson, lesson }, verdict, promotion, anchor };
}

/** Evidence of other types counts as proven bytes; only these are read. */
const JUDGED: ReadonlySet<EntryType> = new Set([
  'run_started',
  'verdict',
  'lesson_extracted',
  'lesson_checked',
  'lesson_reviewed',
  'lesson_promoted',
  'lesson_rejected',
]);

function open(envelope: DsseEnvelope, keys: KeyRing, what: string, kind: LedgerKind): OpenedEntry {
  const opened = openEntry(fromEnvelope(envelope), keys);
  must(opened.kind !== 'foreign', 'signature', `${what}: ${opened.kind === 'foreign' ? opened.reason : ''}`);
  must(opened.kind !== 'defect', 'malformed', `${what}: ${opened.kind === 'defect' ? opened.reason : ''}`);
  const { role, type } = opened.entry;
  must(mayWrite(role, kind, type), 'role', `${what}: ${role} may not write ${type}`);
  return opened.entry;
}

function originAnchor(
  proof: LessonProof,
  keys: KeyRing,
  attachments: ReadonlyMap<string, Uint8Array>,
): EntryOf<'child_anchor'> {
  const opened = open(proof.anchor, keys, 'the anchor', 'evaluation');
  const evaluation: LedgerId = proof.evaluation;
  must(
    opened.eval === evaluation && opened.ledger === evaluation,
    'origin_anchor',
    `the anchor is of ${opened.ledger}, not of ${evaluation}`,
  );
  const anchor = typedEntry(opened, attachments.get(attachedBody(opened)?.sha256 ?? ''));
  must(anchor.type === 'child_anchor', 'origin_anchor', `it is a ${anchor.type}, not a child_anchor`);
  must(
    anchor.body.entries === proof.size,
    'origin_anchor',
    `it anchors ${anchor.body.entries} entries, not ${proof.size}`,
  );
  return anchor;
}

function provenEntries(proof: LessonProof, keys: KeyRing, anchor: EntryOf<'child_anchor'>): OpenedEntry[] {
  const root = fromHex(anchor.body.root_hash);
  let last = -1;
  return proof.entries.map(({ seq, envelope, proof: path }) => {
    const entry = open(envelope, keys, `entry ${seq}`, 'child');
    const child: LedgerId = anchor.body.child_run_id;
    must(
      entry.eval === anchor.eval && entry.ledger === child,
      'ledger',
      `entry ${seq} is of ${entry.ledger}, but the anchor of ${child}`,
    );
    must(entry.seq === seq && seq > last, 'inclusion', `entry ${seq} is not where the proof puts it`);
    const leaf = leafHash(fromHex(entry.hash));
    const included = verifyInclusion({
      index: seq,
      size: proof.size,
      leafHash: leaf,
      proof: path.map(fromBase64),
      root,
    });
    must(included, 'inclusion', `entry ${seq} is not under the root of the anchor`);
    last = seq;
    return entry;
  });
}
