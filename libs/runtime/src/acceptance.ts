import { z } from 'zod';
import { contractSchema } from '#lib/contract';
import { type Accepted, acceptedSchema, type EvalAccepted, evaluationOf } from '#lib/evaluation';
import { canonicalJson, type EvalRunId, isEvalRunId, type JsonValue, sha256Hex, utf8 } from '#lib/ledger';

export type ReadAcceptance =
  | { readonly kind: 'accepted'; readonly id: EvalRunId; readonly accepted: Accepted }
  | { readonly kind: 'malformed'; readonly reason: string };

/** Milliseconds since the epoch that a date can hold: ECMAScript, "Time Values and Time Range". */
const LAST_DATE = 8.64e15;

/** What a record of `eval.accepted` says, or why no intake can have written it: whoever drives it rests on what is checked here. */
export function readAcceptance(value: JsonValue): ReadAcceptance {
  const parsed = acceptedSchema.safeParse(value);
  if (!parsed.success) return { kind: 'malformed', reason: z.prettifyError(parsed.error) };
  const accepted = parsed.data;
  const id = accepted.eval_run_id;
  if (!isEvalRunId(id)) return { kind: 'malformed', reason: `no evaluation has the id ${id.slice(0, 100)}` };
  const reason = accepted.kind === 'eval' ? problemOf(accepted) : null;
  return reason === null ? { kind: 'accepted', id, accepted } : { kind: 'malformed', reason };
}

function problemOf({ eval_run_id, accepted_at, request }: EvalAccepted): string | null {
  if (evaluationOf(request) !== eval_run_id) return 'its id is that of another request';
  if (accepted_at + request.deadline_ms > LAST_DATE) return 'its deadline is no date';
  for (const [index, { digest, contract }] of request.contracts.entries()) {
    const shape = contractSchema.safeParse(contract);
    if (!shape.success) return `contract ${index} is none: ${z.prettifyError(shape.error)}`;
    if (sha256Hex(utf8(canonicalJson(contract))) !== digest) return `contract ${index} is not the one of its digest`;
  }
  return null;
}
