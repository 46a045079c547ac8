import { type ChildRecord, evolve, type EvaluationState, planOf } from '#lib/evaluation';
import type { Entry, LedgerRef } from '#lib/ledger';
import { blobsOf } from './bodies.js';
import { checkLessons } from './check-lessons.js';
import { LinkCheck } from './check-links.js';
import { checkPrompts } from './check-prompts.js';
import { checkUsage } from './check-usage.js';
import { checkVerdict } from './check-verdict.js';
import type { Context } from './context.js';
import type { Stored } from './entry-index.js';
import type { KnownLesson } from './starting-lessons.js';
import { contractOf } from './plan-shape.js';

/** A run's entries with their bodies, by seq; `null` where one is broken or missing, so that nothing can be derived from the whole: findings say which. */
export type RunRead = readonly Entry[] | null;

/**
 * Step 8, for one child: its links, then what its entries say of themselves, folded into `state` with the very functions that the services use.
 * Long texts that were erased take nothing from it: all that is derived stands in bodies.
 */
export async function checkRun(
  context: Context,
  state: EvaluationState,
  record: ChildRecord,
  chain: readonly Stored[],
  known: ReadonlyMap<LedgerRef, KnownLesson>,
): Promise<RunRead> {
  const links = new LinkCheck(context, 'child', record.request.hash);
  const entries: Entry[] = [];
  let sound = true;
  for (const stored of chain) {
    if (!links.next(stored)) sound = false;
    const reading = context.bodies.read(stored);
    const typed = reading instanceof Promise ? await reading : reading;
    if (typed.kind === 'broken') sound = false;
    else {
      entries.push(typed.entry);
      if (sound) evolve(state, typed.entry);
      const blobs = blobsOf(typed.entry);
      if (blobs.length > 0) await context.bodies.transcripts(stored, blobs);
    }
  }
  const { run } = record;
  if (!sound || run === null) return null;
  const plan = planOf(state);
  const contract = contractOf(plan, record.contract);
  const arm = plan.arms.find(({ name }) => name === record.arm);
  checkStart(context, entries[0], record, plan.contracts[record.contract]);
  checkVerdict(context, entries, run, contract);
  checkUsage(context, entries, run);
  await checkPrompts(context, entries, run);
  if (arm !== undefined) checkLessons(context, entries, run, { record, arm, contract, known });
  return entries;
}

/** The run says that it ran what was asked for: this request, this contract, this budget. */
function checkStart(
  context: Context,
  first: Entry | undefined,
  record: ChildRecord,
  planned: { readonly digest: string; readonly contract: { readonly budget?: unknown } } | undefined,
): void {
  if (first?.type !== 'run_started') return;
  const { request, contract_digest, budget } = first.body;
  const wrong = (message: string): void => context.findings.error('plan_mismatch', first, message);
  if (request !== record.request.ref) wrong('the run was started for another request');
  if (contract_digest !== planned?.digest) wrong('the run was started with another contract');
  const limits = (planned?.contract.budget ?? {}) as Readonly<Record<string, unknown>>;
  if (Object.entries(budget).some(([name, limit]) => limits[name] !== limit))
    wrong('the run was started with another budget');
}
