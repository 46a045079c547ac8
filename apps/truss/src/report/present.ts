import { type EvalReport, reportSchema } from '#lib/evaluation';
import { canonicalJson, type JsonObject, type LedgerRef } from '#lib/ledger';

/** The body of an `eval_report` with the ref of its entry: the same text each time, in the order of the schema. */
export function presentReport(body: JsonObject, ref: LedgerRef): EvalReport {
  return reportSchema.parse({ ...JSON.parse(canonicalJson(body)), report_ref: ref });
}
