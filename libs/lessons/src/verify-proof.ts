import {
  attachedBody,
  type DsseEnvelope,
  type Entry,
  type EntryHash,
  type EntryOf,
  type EntryType,
  fromBase64,
  fromEnvelope,
  fromHex,
  type KeyRing,
  LedgerError,
  type LedgerId,
  type LedgerKind,
  type LedgerRef,
  leafHash,
  mayWrite,
  openEntry,
  type OpenedEntry,
  refOf,
  sha256Hex,
  typedEntry,
  verifyInclusion,
  type Vote,
} from '#lib/ledger';
import type { Gate } from './gates.js';
import { type HeldLesson, lessonDigest, trustRank } from './lesson.js';
import type { LessonProof } from './proof.js';

/** What is wrong with a proof; the first word of the `reason`. */
export type ProofFault =
  | 'malformed'
  | 'lesson_ref'
  | 'signature'
  | 'role'
  | 'origin_anchor'
  | 'ledger'
  | 'inclusion'
  | 'attachment'
  | 'digest'
  | 'evidence'
  | 'verdict'
  | 'trust'
  | 'not_promoted'
  | 'rejected'
  | 'gates'
  | 'checks'
  | 'votes'
  | 'quorum';

/** What the reader of a proof insists on. */
export interface ProofPolicy {
  /** The keys that `eval_started` of the lesson's own evaluation pins, or those the reader trusts. */
  readonly keys: KeyRing;
  /** The lesson that was offered; a proof of another one is refused. */
  readonly expectLesson?: LedgerRef;
  /** Gates through which the lesson must have gone; it may have gone through more. */
  readonly gates?: readonly Gate[];
  /** Approvals by distinct reviewers, at least; the quorum that the promotion itself states holds anyway. 0 or absent: no panel is asked for. */
  readonly quorum?: number;
}

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

class Refused extends Error {
  constructor(
    readonly fault: ProofFault,
    reason: string,
  ) {
    super(reason);
  }
}

function require(holds: boolean, fault: ProofFault, reason: string): asserts holds {
  if (!holds) throw new Refused(fault, reason);
}

/**
 * Judges one lesson by its proof alone. It holds when
 * the anchor is a coordinator's `child_anchor` in the evaluation's own ledger; every entry is an executor's, in the child that the anchor
 * names, and is by its inclusion proof at its `seq` in the tree whose root the anchor signs; the lesson has the digest that was signed; all
 * its evidence is proven and earlier, with the run's one verdict in it, which is a pass where the gate `verdict` was gone through; the trust it
 * claims is not above who labelled it; it was promoted once and not rejected; the promotion lists exactly the checks and votes that
 * are here, each once and earlier than itself; every check passed; and approvals of distinct reviewers reach the quorum.
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
  require(policy.expectLesson === undefined ||
    policy.expectLesson === proof.lesson, 'lesson_ref', `it proves ${proof.lesson}, not the lesson asked for`);
  const attachments = new Map(proof.attachments.map((text) => [sha256Hex(fromBase64(text)), fromBase64(text)]));
  const anchor = originAnchor(proof, policy.keys, attachments);
  const proven = provenEntries(proof, policy.keys, anchor);
  const typed = proven
    .filter(({ type }) => JUDGED.has(type))
    .map((entry) => typedEntry(entry, attachments.get(attachedBody(entry)?.sha256 ?? '')));
  require(typed[0]?.type === 'run_started' &&
    typed[0].seq === 0, 'evidence', 'the run_started of the child is missing');
  const extracted = typed.find((entry) => refOf(entry) === proof.lesson);
  require(extracted?.type === 'lesson_extracted', 'lesson_ref', `no lesson_extracted here is ${proof.lesson}`);
  const { lesson, digest } = extracted.body;
  require(lessonDigest(lesson) === digest, 'digest', 'the lesson does not have the digest that its entry states');
  require(trustRank(lesson.trust) <=
    trustRank(lesson.labelled_by), 'trust', `it claims ${lesson.trust}, but was labelled by ${lesson.labelled_by}`);
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
  require(opened.kind !== 'foreign', 'signature', `${what}: ${opened.kind === 'foreign' ? opened.reason : ''}`);
  require(opened.kind !== 'defect', 'malformed', `${what}: ${opened.kind === 'defect' ? opened.reason : ''}`);
  const { role, type } = opened.entry;
  require(mayWrite(role, kind, type), 'role', `${what}: ${role} may not write ${type}`);
  return opened.entry;
}

function originAnchor(
  proof: LessonProof,
  keys: KeyRing,
  attachments: ReadonlyMap<string, Uint8Array>,
): EntryOf<'child_anchor'> {
  const opened = open(proof.anchor, keys, 'the anchor', 'evaluation');
  const evaluation: LedgerId = proof.evaluation;
  require(opened.eval === evaluation &&
    opened.ledger === evaluation, 'origin_anchor', `the anchor is of ${opened.ledger}, not of ${evaluation}`);
  const anchor = typedEntry(opened, attachments.get(attachedBody(opened)?.sha256 ?? ''));
  require(anchor.type === 'child_anchor', 'origin_anchor', `it is a ${anchor.type}, not a child_anchor`);
  require(anchor.body.entries ===
    proof.size, 'origin_anchor', `it anchors ${anchor.body.entries} entries, not ${proof.size}`);
  return anchor;
}

function provenEntries(proof: LessonProof, keys: KeyRing, anchor: EntryOf<'child_anchor'>): OpenedEntry[] {
  const root = fromHex(anchor.body.root_hash);
  let last = -1;
  return proof.entries.map(({ seq, envelope, proof: path }) => {
    const entry = open(envelope, keys, `entry ${seq}`, 'child');
    const child: LedgerId = anchor.body.child_run_id;
    require(entry.eval === anchor.eval &&
      entry.ledger === child, 'ledger', `entry ${seq} is of ${entry.ledger}, but the anchor of ${child}`);
    require(entry.seq === seq && seq > last, 'inclusion', `entry ${seq} is not where the proof puts it`);
    const leaf = leafHash(fromHex(entry.hash));
    const included = verifyInclusion({
      index: seq,
      size: proof.size,
      leafHash: leaf,
      proof: path.map(fromBase64),
      root,
    });
    require(included, 'inclusion', `entry ${seq} is not under the root of the anchor`);
    last = seq;
    return entry;
  });
}

function thePromotion(typed: readonly Entry[], extracted: EntryOf<'lesson_extracted'>): EntryOf<'lesson_promoted'> {
  const lesson = refOf(extracted);
  for (const entry of typed) {
    if (entry.type === 'lesson_rejected' && entry.body.lesson === lesson) {
      throw new Refused('rejected', `rejected at the gate ${entry.body.gate}: ${entry.body.reason}`);
    }
  }
  const [promotion, another] = typed
    .filter((entry) => entry.type === 'lesson_promoted')
    .filter(({ body }) => body.lesson === lesson);
  require(promotion !== undefined, 'not_promoted', 'no entry promotes it');
  require(another === undefined, 'not_promoted', 'it was promoted more than once');
  require(promotion.seq > extracted.seq, 'not_promoted', 'it was promoted before it was there');
  return promotion;
}

function checkPromotion(typed: readonly Entry[], promotion: EntryOf<'lesson_promoted'>, policy: ProofPolicy): void {
  const { lesson, gates, quorum, checks: checkRefs, votes: voteRefs } = promotion.body;
  require(gates.length > 0, 'gates', 'it went through no gate');
  const skipped = policy.gates?.find((gate) => !gates.includes(gate));
  require(skipped === undefined, 'gates', `it did not go through the gate ${skipped}`);

  const checks = typed.filter((entry) => entry.type === 'lesson_checked').filter(({ body }) => body.lesson === lesson);
  require(sameEntries(
    checks,
    checkRefs,
    promotion.seq,
  ), 'checks', 'the promotion does not list exactly the checks before it');
  for (const { body } of checks) require(body.passed, 'checks', `it failed ${body.check}: ${body.reason}`);
  const unchecked = gates.find((gate) => gate !== 'panel' && !checks.some(({ body }) => body.gate === gate));
  require(unchecked === undefined, 'checks', `no check of the gate ${unchecked} is recorded`);

  const votes = typed.filter((entry) => entry.type === 'lesson_reviewed').filter(({ body }) => body.lesson === lesson);
  const byReviewer = new Map<string, Vote>();
  for (const { body } of votes) {
    require(!byReviewer.has(body.reviewer), 'votes', `reviewer ${body.reviewer} voted twice`);
    byReviewer.set(body.reviewer, body.vote);
  }
  require(sameEntries(
    votes,
    voteRefs,
    promotion.seq,
  ), 'votes', 'the promotion does not list exactly the votes before it');
  const approvals = [...byReviewer.values()].filter((vote) => vote === 'approve').length;
  const asked = policy.quorum ?? 0;
  if (asked === 0 && !gates.includes('panel')) return;
  require(gates.includes('panel') && quorum >= 1, 'quorum', 'no panel promoted it');
  const needed = Math.max(quorum, asked);
  require(approvals >= needed, 'quorum', `${approvals} approved, ${needed} must`);
}

function sameEntries(entries: readonly Entry[], refs: readonly LedgerRef[], before: number): boolean {
  const listed = new Set(refs);
  return (
    listed.size === refs.length &&
    entries.length === refs.length &&
    entries.every((entry) => listed.has(refOf(entry)) && entry.seq < before)
  );
}

function theVerdict(
  typed: readonly Entry[],
  proven: readonly OpenedEntry[],
  extracted: EntryOf<'lesson_extracted'>,
  anchor: EntryOf<'child_anchor'>,
  gates: readonly Gate[],
): EntryOf<'verdict'> {
  const { evidence } = extracted.body.lesson;
  const earlier = new Map<LedgerRef, EntryHash>(
    proven.filter(({ seq }) => seq < extracted.seq).map((entry) => [refOf(entry), entry.hash]),
  );
  const missing = evidence.find((ref) => !earlier.has(ref));
  require(missing === undefined, 'evidence', `${missing} is not proven to stand before the lesson`);
  const verdict = typed.find((entry) => refOf(entry) === anchor.body.verdict_ref);
  require(verdict?.type === 'verdict' &&
    evidence.includes(anchor.body.verdict_ref), 'evidence', 'it does not rest on the verdict that the anchor names');
  require(verdict.body.verdict ===
    anchor.body.verdict, 'verdict', `the run ends as ${verdict.body.verdict}, the anchor says ${anchor.body.verdict}`);
  require(!gates.includes('verdict') ||
    verdict.body.verdict === 'pass', 'verdict', `the verdict of the run is ${verdict.body.verdict}`);
  return verdict;
}
