import type { EvalReport } from '#lib/evaluation';
import type { EntryHash, EvalRunId } from '#lib/ledger';

/** Every code of a finding, in the order of `threats/THREATS.md`; those that its table does not name come last. */
export const FINDING_CODES = [
  'foreign_record',
  'genesis_missing',
  'sequence_gap',
  'ledger_truncated',
  'ledger_open',
  'superseded',
  'writer_equivocated',
  'superseded_outcome',
  'superseded_unchecked',
  'ledger_mismatch',
  'anchor_mismatch',
  'anchor_missing',
  'anchor_unplanned',
  'parent_contradicted',
  'report_mismatch',
  'entry_after_close',
  'verdict_ref_invalid',
  'usage_mismatch',
  'lessons_offered_mismatch',
  'lesson_unverified',
  'role_not_permitted',
  'key_revoked',
  'time_not_monotonic',
  'key_rejected',
  'payload_not_canonical',
  'entry_type_unknown',
  'key_unknown',
  'not_found',
  'input_too_large',
  'head_mismatch',
  'single_operator',
  'plan_mismatch',
  'body_malformed',
  'attachment_missing',
  'evidence_unchecked',
  'prompt_mismatch',
  'nothing_checked',
] as const;
export type FindingCode = (typeof FINDING_CODES)[number];

export type Severity = 'error' | 'warning' | 'information';

export interface Finding {
  readonly code: FindingCode;
  readonly severity: Severity;
  /** Where in the ledgers; `null` where the finding has no such place. */
  readonly ledger: string | null;
  readonly seq: number | null;
  /** Where in the input the record stood, as the caller counts it; `null` for what is not there. */
  readonly position: number | string | null;
  readonly message: string;
}

/**
 * `valid`: closed complete, sealed, report recomputed. `ended`: closed cancelled or failed, nothing wrong. `open`: nothing wrong so far.
 * `invalid`: at least one finding is an error. `indeterminate`: a newer format. `not_found`: no entry of this evaluation.
 */
export type Verification = 'valid' | 'ended' | 'open' | 'invalid' | 'indeterminate' | 'not_found';

/** How much was checked: a pass that checked nothing is none. */
export interface Checked {
  /** Entries of the evaluation that a trusted key signed, each once. */
  entries: number;
  /** Signatures that hold, duplicates included. */
  signatures: number;
  /** Entries on the chains whose `prev`, seq and writer were followed. */
  links: number;
  /** Anchors whose size, root and head are those of the child's chain. */
  anchors: number;
  /** Merkle roots recomputed and inclusion proofs followed. */
  proofs: number;
  /** Numbers of the report that were derived again. */
  numbers: number;
  /** Lessons whose origin, gates and votes were followed: promotions here, and starting lessons. */
  lessons: number;
}

export interface Met {
  duplicates: number;
  superseded: number;
  foreign: number;
}

export interface VerificationResult {
  readonly evaluation: EvalRunId;
  readonly result: Verification;
  /** In the order of {@link FINDING_CODES}, then by ledger and seq. At most 1,000 of a code are listed. */
  readonly findings: readonly Finding[];
  readonly checked: Readonly<Checked>;
  readonly met: Readonly<Met>;
  /** The signed report with its `report_ref`; only where the evaluation is `valid`. */
  readonly report: EvalReport | null;
  /** How the evaluation was closed; `null` while it is open. */
  readonly outcome: 'complete' | 'cancelled' | 'failed' | null;
  /** Hash of the last entry of the evaluation's own chain. Save it: `expectHead` finds a log that was rolled back. */
  readonly head: EntryHash | null;
  /** One operator holds every key that signed: only outside state (`expectHead`) can show that all was re-signed. */
  readonly single_operator: boolean;
}
