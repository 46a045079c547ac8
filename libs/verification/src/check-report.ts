import { buildReport, type EvaluationState, type EvalReport, planOf } from '#lib/evaluation';
import { canonicalJson, type EntryOf, type JsonObject, type JsonValue, LedgerError, refOf } from '#lib/ledger';
import type { Context } from './context.js';

/** The report as everybody derives it from the entries; `null` where their numbers are such that none can be. */
export function deriveReport(state: EvaluationState): (EvalReport & JsonObject) | null {
  try {
    return buildReport(state);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Step 11: the signed report is, byte for byte, the one derived here. Gives it with its ref. */
export function checkReport(
  context: Context,
  state: EvaluationState,
  entry: EntryOf<'eval_report'>,
): EvalReport | null {
  const derived = deriveReport(state);
  const fault =
    derived === null
      ? 'no report can be derived from the numbers of this evaluation'
      : reportFault(context, state, derived, entry);
  if (derived === null || fault !== null) {
    context.findings.error('report_mismatch', entry, fault ?? 'no report');
    return null;
  }
  context.checked.numbers += countNumbers(entry.body);
  return { ...(entry.body as EvalReport & JsonObject), report_ref: refOf(entry) };
}

/** Where a report differs from the derived one, or `null`. Evidence of a method that this version does not know is not derived, and that is said. */
export function reportFault(
  context: Context,
  state: EvaluationState,
  derived: EvalReport & JsonObject,
  entry: EntryOf<'eval_report'>,
): string | null {
  const planned = planOf(state).statistics.method_version;
  if (planned === derived.evidence.method_version) return difference(derived, entry.body);
  context.findings.information(
    'evidence_unchecked',
    entry,
    `evidence by method version ${planned} was not derived again: verify with a version that knows it`,
  );
  const without = ({ evidence: _e, summary: _s, ...rest }: JsonObject): JsonObject => rest;
  return difference(without(derived), without(entry.body));
}

/** Sums past 2^53 cannot be written exactly, so no honest report holds them. */
function difference(derived: JsonObject, signed: JsonObject): string | null {
  try {
    return firstDifference(derived, signed, '');
  } catch (error) {
    if (error instanceof LedgerError) return 'no report can be derived: its numbers are too large to be exact';
    throw error;
  }
}

/** Part by part, and never the text of the whole: that of a large report takes more memory than all else. */
function firstDifference(derived: JsonValue, signed: JsonValue | undefined, path: string): string | null {
  const inside = [derived, signed].every((value) => typeof value === 'object' && value !== null);
  if (!inside || Array.isArray(derived) !== Array.isArray(signed)) {
    if (signed !== undefined && canonicalJson(derived) === canonicalJson(signed)) return null;
    const show = (value: JsonValue | undefined): string =>
      value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 80);
    return `${path === '' ? 'the report' : path} is ${show(signed)}; its entries make it ${show(derived)}`;
  }
  const [a, b] = [derived as JsonObject, signed as JsonObject];
  const extra = Object.keys(b).find((key) => !Object.hasOwn(a, key));
  if (extra !== undefined) return `${path}/${extra} does not belong into the report`;
  for (const key of Object.keys(a)) {
    const difference = firstDifference(
      a[key] as JsonValue,
      Object.hasOwn(b, key) ? b[key] : undefined,
      `${path}/${key}`,
    );
    if (difference !== null) return difference;
  }
  return null;
}

function countNumbers(value: JsonValue): number {
  if (typeof value === 'number') return 1;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + countNumbers(item), 0);
}
