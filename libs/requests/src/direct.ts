import { type CancelRequested, cancelRequestedSchema, type EvalRequested, evalRequestedSchema } from '#lib/evaluation';
import { isEvalRunId, type JsonValue } from '#lib/ledger';
import type { Refusal, RequestResolver } from '#lib/runtime';
import { firstProblem } from './shape.js';

/** For the inbox of one process: what is asked for was resolved by who asks. */
export const directRequests: RequestResolver = {
  resolve: async ({ value }) => judge(value),
  admit: async () => null,
};

function judge(value: JsonValue): EvalRequested | CancelRequested | Refusal {
  const request = evalRequestedSchema.safeParse(value);
  if (request.success) return request.data;
  const cancel = cancelRequestedSchema.safeParse(value);
  if (cancel.success) {
    if (isEvalRunId(cancel.data.eval_run_id)) return cancel.data;
    return { kind: 'refused', code: 'bad_id', reason: `no evaluation has the id ${cancel.data.eval_run_id}` };
  }
  const wanted = (value as { kind?: unknown } | null)?.kind === 'cancel' ? cancel.error : request.error;
  return { kind: 'refused', code: 'bad_request', reason: firstProblem(wanted) };
}
