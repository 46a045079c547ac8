import { type EntryHash, type EvalRunId, LedgerError, type TrustStore } from '#lib/ledger';
import { Bodies } from './bodies.js';
import { checkKeys } from './check-keys.js';
import { type Context, DEFAULT_LIMITS, type Limits } from './context.js';
import { EntryIndex } from './entry-index.js';
import { Findings } from './findings.js';
import { type KeyTable, openKeys } from './key-table.js';
import { checkOffChain } from './off-chain.js';
import { ReadingWalk } from './reading-walk.js';
import { type PositionedRecord, readRecords, type VerifySignatures } from './read-records.js';
import type { Checked, Verification, VerificationResult } from './result.js';
import { EvaluationWalk, type Walked } from './walk-evaluation.js';

type Records = AsyncIterable<PositionedRecord> | Iterable<PositionedRecord>;

export interface VerifyInput {
  readonly evaluation: EvalRunId;
  /**
   * In any order: order is never evidence. Duplicates and records of others are met, counted and harmless. As a function that begins anew at each call (an
   * array does too) they are worked on as they come: in the order of a log, the entries of a run are held only until its anchor. Where something
   * is wrong or cannot be told so, all are read a second time, and held.
   */
  readonly records: Records | (() => Records);
  /** The verifier's own root of trust. */
  readonly keys: TrustStore;
  /** Bytes by their SHA-256; `null` where they are not here (any more). */
  attachment(sha256: string): Promise<Uint8Array | null>;
  /** A head saved earlier: the evaluation must hold it. */
  readonly expectHead?: string;
  /** Checks signatures elsewhere, under the profile of `libs/ledger`; by default they are checked here. */
  readonly verifySignatures?: VerifySignatures;
  readonly limits?: Partial<Limits>;
}

/**
 * Verifies an evaluation and every child of it from signed records alone: signatures, chains, roles, anchors, plan, verdicts, sums, lessons and the report, which it
 * derives again. Does no I/O, and never throws for what stands in a record.
 * @throws VerificationError `trust_empty`
 */
export async function verifyEvaluation(input: VerifyInput): Promise<VerificationResult> {
  const { records } = input;
  if (typeof records !== 'function' && !Array.isArray(records)) return verifyWhole(input, records);
  const begin = (): Records => (typeof records === 'function' ? records() : records);
  return (await verifyAsRead(input, begin())) ?? verifyWhole(input, begin());
}

/** With the runs checked while the log is read; `null` where not everything is in order. */
async function verifyAsRead(input: VerifyInput, records: Records): Promise<VerificationResult | null> {
  const context = contextOf(input);
  const reading = new ReadingWalk(context);
  if (!(await readRecords(context, records, input.verifySignatures ?? null, reading))) return null;
  const walked = await reading.finish();
  if (walked === null) return null;
  const result = await conclude(context, input, walked);
  return context.findings.errors.size === 0 ? result : null;
}

/** With all entries at hand: for whatever is not in order. */
async function verifyWhole(input: VerifyInput, records: Records): Promise<VerificationResult> {
  const context = contextOf(input);
  await readRecords(context, records, input.verifySignatures ?? null);
  if (context.index.size === 0) return notFound(context, input);
  return conclude(context, input, await new EvaluationWalk(context).run());
}

function contextOf(input: VerifyInput): Context {
  const findings = new Findings();
  const keys = keysOf(input.keys, findings);
  const limits = { ...DEFAULT_LIMITS, ...input.limits };
  const attachment = readableOnly(input);
  return {
    evaluation: input.evaluation,
    keys,
    index: new EntryIndex(),
    bodies: new Bodies(findings, attachment, limits.attachmentBytes),
    findings,
    checked: { entries: 0, signatures: 0, links: 0, anchors: 0, proofs: 0, numbers: 0, lessons: 0 },
    met: { duplicates: 0, superseded: 0, foreign: 0 },
    limits,
    attachment,
  };
}

async function conclude(context: Context, input: VerifyInput, walked: Walked): Promise<VerificationResult> {
  context.checked.entries = context.index.size;
  const head = walked.parent.at(-1) ?? null;
  const single = checkKeys(context, walked, head);
  await checkOffChain(context, {
    state: walked.state,
    onChain: walked.onChain,
    head: head ?? ('' as EntryHash),
    parentWhole: walked.parentWhole,
    parentLength: walked.parent.length,
  });
  checkExpectedHead(context, input.expectHead, walked);
  const result = resultOf(context, walked);
  return {
    evaluation: input.evaluation,
    result,
    findings: context.findings.list(),
    checked: context.checked,
    met: context.met,
    report: result === 'valid' ? walked.report : null,
    outcome: walked.state.closed?.body.outcome ?? null,
    head,
    single_operator: single,
  };
}

const NO_KEYS: KeyTable = { get: () => undefined };

/** A trust store that cannot be trusted holds no key at all. */
function keysOf(store: TrustStore, findings: Findings): KeyTable {
  try {
    return openKeys(store);
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    findings.error(error.code === 'key_rejected' ? 'key_rejected' : 'key_unknown', {}, error.message);
    return NO_KEYS;
  }
}

/** A store that finds its own attachment damaged does not have it. */
function readableOnly(input: VerifyInput): (sha256: string) => Promise<Uint8Array | null> {
  return async (sha256) => {
    try {
      return await input.attachment(sha256);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'log_corrupt') return null;
      throw error;
    }
  };
}

function checkExpectedHead(
  { findings, evaluation }: Context,
  expected: string | undefined,
  { parent }: Pick<Walked, 'parent'>,
): void {
  if (expected === undefined || parent.some((hash) => hash === expected)) return;
  findings.error(
    'head_mismatch',
    { ledger: evaluation },
    `the saved head ${expected.slice(0, 64)} is not on this evaluation's chain: it was rolled back, cut or written anew`,
  );
}

function notFound(context: Context, input: VerifyInput): VerificationResult {
  const { findings, evaluation, checked, met } = context;
  for (const defect of context.index.defects)
    findings.error(defect.code, { ...defect.claim, position: defect.position }, defect.reason);
  checkExpectedHead(context, input.expectHead, { parent: [] });
  if (findings.errors.size === 0 || findings.errors.has('head_mismatch')) {
    findings.error(
      'not_found',
      { ledger: evaluation },
      'no entry of this evaluation that a trusted key signed is here',
    );
  }
  return {
    evaluation,
    result: findings.errors.has('not_found') ? 'not_found' : 'invalid',
    findings: findings.list(),
    checked,
    met,
    report: null,
    outcome: null,
    head: null,
    single_operator: false,
  };
}

/** Codes that an entry of an unknown version brings with it: its own place is missing from the chain. */
const UNKNOWN_VERSION: ReadonlySet<string> = new Set([
  'entry_type_unknown',
  'sequence_gap',
  'genesis_missing',
  'ledger_truncated',
]);

function resultOf(context: Context, { state, report, parent }: Walked): Verification {
  const { findings, evaluation } = context;
  if (findings.errors.size > 0) {
    const unknown =
      findings.errors.has('entry_type_unknown') && [...findings.errors].every((code) => UNKNOWN_VERSION.has(code));
    return unknown ? 'indeterminate' : 'invalid';
  }
  const { closed } = state;
  if (closed === null || (closed.body.outcome === 'complete' && state.report === null)) {
    const what =
      closed === null ? 'the evaluation is not closed' : 'the evaluation is closed, and its report is not here';
    findings.information('ledger_open', { ledger: evaluation, seq: parent.length }, what);
    return 'open';
  }
  if (closed.body.outcome !== 'complete') return 'ended';
  if (report === null || checkedNothing(context.checked)) {
    findings.error(
      'nothing_checked',
      { ledger: evaluation },
      'nothing was found wrong because something was not checked at all: this is a fault of the verifier',
    );
    return 'invalid';
  }
  return 'valid';
}

function checkedNothing({ entries, signatures, links, anchors, proofs, numbers }: Checked): boolean {
  return [entries, signatures, links, anchors, proofs, numbers].some((count) => count === 0);
}
