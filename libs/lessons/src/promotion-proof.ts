import {
  type Entry,
  type EntryHash,
  type EntryOf,
  type KeyRing,
  type LedgerRef,
  type OpenedEntry,
  refOf,
  type Vote,
} from '#lib/ledger';
import { checksOf, type Gate } from './gates.js';

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

/** Ends the judging of a proof. */
export class Refused extends Error {
  constructor(
    readonly fault: ProofFault,
    reason: string,
  ) {
    super(reason);
  }
}

export function must(holds: boolean, fault: ProofFault, reason: string): asserts holds {
  if (!holds) throw new Refused(fault, reason);
}

export function thePromotion(
  typed: readonly Entry[],
  extracted: EntryOf<'lesson_extracted'>,
): EntryOf<'lesson_promoted'> {
  const lesson = refOf(extracted);
  for (const entry of typed) {
    if (entry.type === 'lesson_rejected' && entry.body.lesson === lesson) {
      throw new Refused('rejected', `rejected at the gate ${entry.body.gate}: ${entry.body.reason}`);
    }
  }
  const [promotion, another] = typed
    .filter((entry) => entry.type === 'lesson_promoted')
    .filter(({ body }) => body.lesson === lesson);
  must(promotion !== undefined, 'not_promoted', 'no entry promotes it');
  must(another === undefined, 'not_promoted', 'it was promoted more than once');
  must(promotion.seq > extracted.seq, 'not_promoted', 'it was promoted before it was there');
  return promotion;
}

export function checkPromotion(
  typed: readonly Entry[],
  promotion: EntryOf<'lesson_promoted'>,
  policy: ProofPolicy,
): void {
  const { lesson, gates, quorum, checks: checkRefs, votes: voteRefs } = promotion.body;
  must(gates.length > 0, 'gates', 'it went through no gate');
  const skipped = policy.gates?.find((gate) => !gates.includes(gate));
  must(skipped === undefined, 'gates', `it did not go through the gate ${skipped}`);

  const checks = typed.filter((entry) => entry.type === 'lesson_checked').filter(({ body }) => body.lesson === lesson);
  must(
    sameEntries(checks, checkRefs, promotion.seq),
    'checks',
    'the promotion does not list exactly the checks before it',
  );
  for (const { body } of checks) must(body.passed, 'checks', `it failed ${body.check}: ${body.reason}`);
  for (const gate of gates) {
    if (gate === 'panel') continue;
    const missing = checksOf(gate).find(
      (name) => !checks.some(({ body }) => body.gate === gate && body.check === name),
    );
    must(missing === undefined, 'checks', `the check ${missing} of the gate ${gate} is not recorded`);
  }

  const votes = typed.filter((entry) => entry.type === 'lesson_reviewed').filter(({ body }) => body.lesson === lesson);
  const byReviewer = new Map<string, Vote>();
  for (const { body } of votes) {
    must(!byReviewer.has(body.reviewer), 'votes', `reviewer ${body.reviewer} voted twice`);
    byReviewer.set(body.reviewer, body.vote);
  }
  must(sameEntries(votes, voteRefs, promotion.seq), 'votes', 'the promotion does not list exactly the votes before it');
  const approvals = [...byReviewer.values()].filter((vote) => vote === 'approve').length;
  const asked = policy.quorum ?? 0;
  if (asked === 0 && !gates.includes('panel')) return;
  must(gates.includes('panel') && quorum >= 1, 'quorum', 'no panel promoted it');
  const needed = Math.max(quorum, asked);
  must(approvals >= needed, 'quorum', `${approvals} approved, ${needed} must`);
}

function sameEntries(entries: readonly Entry[], refs: readonly LedgerRef[], before: number): boolean {
  const listed = new Set(refs);
  return (
    listed.size === refs.length &&
    entries.length === refs.length &&
    entries.every((entry) => listed.has(refOf(entry)) && entry.seq < before)
  );
}

export function theVerdict(
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
  must(missing === undefined, 'evidence', `${missing} is not proven to stand before the lesson`);
  const verdict = typed.find((entry) => refOf(entry) === anchor.body.verdict_ref);
  must(
    verdict?.type === 'verdict' && evidence.includes(anchor.body.verdict_ref),
    'evidence',
    'it does not rest on the verdict that the anchor names',
  );
  must(
    verdict.body.verdict === anchor.body.verdict,
    'verdict',
    `the run ends as ${verdict.body.verdict}, the anchor says ${anchor.body.verdict}`,
  );
  must(
    !gates.includes('verdict') || verdict.body.verdict === 'pass',
    'verdict',
    `the verdict of the run is ${verdict.body.verdict}`,
  );
  return verdict;
}
