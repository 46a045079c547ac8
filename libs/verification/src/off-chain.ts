import type { ChildRecord, EvaluationState } from '#lib/evaluation';
import { type ChildRunId, type EntryHash, type LedgerId, mayWrite } from '#lib/ledger';
import { deriveReport, reportFault } from './check-report.js';
import { faultAfter } from './check-links.js';
import type { Context } from './context.js';
import type { Stored } from './entry-index.js';
import { isAccepted } from './key-table.js';

export interface OffChainGround {
  readonly state: EvaluationState;
  /** Hashes of every entry that a chain holds. */
  readonly onChain: ReadonlySet<EntryHash>;
  readonly head: EntryHash;
  /** The evaluation's own chain was followed to its first entry and none of it broke a rule. */
  readonly parentWhole: boolean;
  /** Entries of the evaluation's own chain. */
  readonly parentLength: number;
}

/** An outcome that somebody may have wished away by a take-over. */
const OUTCOMES: ReadonlySet<string> = new Set(['verdict', 'run_sealed', 'model_call_completed', 'answer_submitted']);

/**
 * Step 12: every verified entry that is on no chain. A displaced writer's work is no fault; what no honest writer ever signs is. What a key did that is
 * no longer trusted, and whose evaluation is still accepted, is a warning.
 */
export async function checkOffChain(context: Context, ground: OffChainGround): Promise<void> {
  checkDefects(context, ground);
  for (const ledger of context.index.ledgers) {
    const entries = context.index.ledger(ledger);
    const off = entries
      .filter(({ hash }) => !ground.onChain.has(hash))
      .toSorted((a, b) => a.seq - b.seq || (a.hash < b.hash ? -1 : 1));
    if (off.length === 0) continue;
    checkEquivocation(context, ground, ledger, entries);
    for (const entry of off) await checkOne(context, ground, entry);
  }
}

function checkDefects(context: Context, ground: OffChainGround): void {
  for (const defect of context.index.defects) {
    const where = { ...defect.claim, position: defect.position };
    if (defect.claim.ledger === null) {
      context.met.foreign += 1;
      context.findings.warning('foreign_record', where, `signed, but no entry of this evaluation: ${defect.reason}`);
      context.findings.warning(defect.code, where, defect.reason);
    } else report(context, ground, defect.key, defect.code, where, defect.reason);
  }
}

function report(
  context: Context,
  { head }: OffChainGround,
  key: string,
  code: Parameters<Context['findings']['error']>[0],
  where: Parameters<Context['findings']['error']>[1],
  message: string,
): void {
  const signer = context.keys.get(key);
  const disowned = signer !== undefined && signer.status !== 'active' && isAccepted(signer, head);
  if (disowned) context.findings.warning(code, where, `${message} (by a key that is no longer active)`);
  else context.findings.error(code, where, message);
}

async function checkOne(context: Context, ground: OffChainGround, entry: Stored): Promise<void> {
  const wrong = (code: Parameters<typeof report>[3], message: string): void =>
    report(context, ground, entry.key, code, entry, message);
  const isParent = entry.ledger === context.evaluation;
  const permitted = mayWrite(entry.role, isParent ? 'evaluation' : 'child', entry.type);
  if (!permitted)
    wrong('role_not_permitted', `a key of role ${entry.role} may not write ${entry.type} into this ledger`);
  const before = context.index.get(entry.prev);
  const after = before === undefined || before.type === 'run_sealed' ? null : faultAfter(before.type, entry.type);
  if (entry.type !== 'eval_report' && after !== null) wrong('entry_after_close', after.message);
  if (!permitted || (after !== null && entry.type !== 'eval_report')) return;
  // What is missing from the evaluation's own chain is said already; without it nobody can tell what else was superseded.
  if (!ground.parentWhole) return;
  if (entry.type === 'eval_report') return checkSecondReport(context, ground, entry, before, wrong);
  if (entry.seq > 0 && before === undefined && context.index.defect(entry.prev) === undefined) {
    missing(context, ground, entry);
  } else if (
    entry.seq > 0 &&
    before !== undefined &&
    (before.ledger !== entry.ledger || before.seq !== entry.seq - 1)
  ) {
    wrong('ledger_mismatch', `its prev is ${before.ledger}#${before.seq}, which is not the entry before it`);
  } else if (entry.seq === 0 && !isParent) {
    const record = ground.state.children.get(entry.ledger as ChildRunId);
    if (record === undefined || record.request.hash !== entry.prev) return unrequested(context, ground, entry, wrong);
  }
  context.met.superseded += 1;
  context.findings.information('superseded', entry, `a ${entry.type} by a writer that was displaced`);
  if (!isParent && OUTCOMES.has(entry.type)) {
    context.findings.warning('superseded_outcome', entry, `a ${entry.type} was superseded by a take-over`);
  }
}

/** A run rests on a request of the live chain or on nothing. While the evaluation is open, the request may have been cut off. */
function unrequested(
  context: Context,
  ground: OffChainGround,
  entry: Stored,
  wrong: (code: 'parent_contradicted', message: string) => void,
): void {
  if (ground.state.closed === null && context.index.get(entry.prev) === undefined) {
    context.findings.error(
      'ledger_truncated',
      { ledger: context.evaluation, seq: ground.parentLength },
      `${entry.ledger} rests on a child_requested that is not here`,
    );
  } else wrong('parent_contradicted', 'the run does not rest on its child_requested in the evaluation');
}

function missing(context: Context, ground: OffChainGround, entry: Stored): void {
  const place = { ledger: entry.ledger, seq: entry.seq - 1 };
  const code = entry.seq === 1 ? 'genesis_missing' : 'sequence_gap';
  const message = `the entry before ${entry.ledger}#${entry.seq} is missing`;
  if (isSealed(ground, entry.ledger)) context.findings.warning(code, place, `${message}; it is on no chain`);
  else context.findings.error(code, place, message);
}

async function checkSecondReport(
  context: Context,
  ground: OffChainGround,
  entry: Stored,
  before: Stored | undefined,
  wrong: (code: 'report_mismatch' | 'entry_after_close', message: string) => void,
): Promise<void> {
  if (before?.type === 'eval_report') wrong('entry_after_close', 'nothing may follow eval_report, and another does');
  const { closed, report: first } = ground.state;
  const typed = await context.bodies.read(entry);
  if (typed.kind !== 'entry' || typed.entry.type !== 'eval_report') return;
  if (
    closed === null ||
    first === null ||
    before === undefined ||
    !ground.onChain.has(before.hash) ||
    before.type !== 'eval_closed' ||
    entry.seq !== before.seq + 1
  ) {
    return wrong('report_mismatch', 'a report that does not follow the close of this evaluation');
  }
  const derived = deriveReport(ground.state);
  const fault = derived === null ? null : reportFault(context, ground.state, derived, typed.entry);
  if (fault !== null) return wrong('report_mismatch', `a second report: ${fault}`);
  context.met.superseded += 1;
  context.findings.information('superseded', entry, 'the same report by another projector');
}

function checkEquivocation(
  context: Context,
  ground: OffChainGround,
  ledger: LedgerId,
  entries: readonly Stored[],
): void {
  const first = new Map<string, Stored>();
  for (const entry of entries.toSorted((a, b) => (a.hash < b.hash ? -1 : 1))) {
    const place = `${entry.seq} ${entry.key} ${entry.session}`;
    const other = first.get(place);
    if (other === undefined) {
      first.set(place, entry);
      continue;
    }
    const message = `one writer signed two entries here: ${other.hash} and ${entry.hash}`;
    if (isSealed(ground, ledger)) context.findings.warning('writer_equivocated', entry, message);
    else report(context, ground, entry.key, 'writer_equivocated', entry, message);
  }
}

function isSealed({ state }: OffChainGround, ledger: LedgerId): boolean {
  if (ledger === state.eval)
    return state.closed !== null && (state.closed.body.outcome !== 'complete' || state.report !== null);
  const record: ChildRecord | undefined = state.children.get(ledger as ChildRunId);
  return record?.anchor != null;
}
