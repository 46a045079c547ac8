import { z } from 'zod';
import {
  canonicalJson,
  type Draft,
  type EntryHash,
  type EvalRunId,
  evalRunId,
  planSchema,
  sha256Hex,
  utf8,
  type AttachmentRef,
  type Arm,
} from '#lib/ledger';
import { OFFER_RULE } from '#lib/lessons';
import { filesHintSchema } from './files-hint.js';
import { REPORT_VERSION } from './report.js';

const count = z.int().min(0);
/** Without control characters: the two names are joined by NUL in the id that they make. */
const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}*$/u);

/** The value of an `eval.requested` record that asks for an evaluation: everything of the plan that the requester decides. */
export const evalRequestedSchema = z.strictObject({
  kind: z.literal('eval'),
  requester: name,
  request_id: name,
  contracts: planSchema.shape.contracts,
  repeats: z.int().min(1),
  replicates: z.int().min(1),
  seed: count,
  concurrency: z.int().min(1),
  starting_lessons: planSchema.shape.starting_lessons,
  max_cost_nano_usd: count.nullable(),
  deadline_ms: z.int().min(1),
  statistics: planSchema.shape.statistics,
  /** Where the contracts' files are or may be had from, for executors: a hint, no part of what is asked for. */
  files: z.array(filesHintSchema),
});
export type EvalRequested = z.infer<typeof evalRequestedSchema>;

export const cancelRequestedSchema = z.strictObject({
  kind: z.literal('cancel'),
  eval_run_id: z.string(),
  reason: z.string(),
});
export type CancelRequested = z.infer<typeof cancelRequestedSchema>;

/**
 * What intake puts on `eval.accepted`. `accepted_at` fixes the deadline, so that every owner writes the same plan. `from` is a position of the
 * log before which it holds nothing of the evaluation, if nobody asked for it earlier: a hint.
 */
export const evalAcceptedSchema = z.strictObject({
  kind: z.literal('eval'),
  eval_run_id: z.string(),
  accepted_at: count,
  from: count,
  request: evalRequestedSchema,
});
export type EvalAccepted = z.infer<typeof evalAcceptedSchema>;
export const acceptedSchema = z.union([
  evalAcceptedSchema,
  z.strictObject({ kind: z.literal('cancel'), eval_run_id: z.string(), reason: z.string(), accepted_at: count }),
]);
export type Accepted = z.infer<typeof acceptedSchema>;

export const ARMS: readonly Arm[] = [
  { name: 'on', kind: 'learning_on', memory: { extraction: 'on', promotion: 'eager', recall: 'verified' } },
  { name: 'off', kind: 'learning_off', memory: { extraction: 'off', promotion: 'off', recall: 'off' } },
];

export function evaluationOf(request: EvalRequested): EvalRunId {
  return evalRunId(request.requester, request.request_id);
}

/** Says whether two requests of one id ask for the same: the hints do not count. */
export function requestDigest(request: EvalRequested): EntryHash {
  const { files: _hint, ...asked } = request;
  return sha256Hex(utf8(canonicalJson(asked))) as EntryHash;
}

/** The plan, fixed before any run. Equal for every owner that starts from the same acceptance. */
export function startedDraft(
  accepted: EvalAccepted,
  trustStore: AttachmentRef,
  software: { truss: string; node: string },
): Extract<Draft, { type: 'eval_started' }> {
  const { request } = accepted;
  const plan = {
    contracts: request.contracts,
    arms: [...ARMS],
    repeats: request.repeats,
    replicates: request.replicates,
    seed: request.seed,
    concurrency: request.concurrency,
    starting_lessons: request.starting_lessons,
    offer_rule: OFFER_RULE,
    max_cost_nano_usd: request.max_cost_nano_usd,
    deadline: new Date(accepted.accepted_at + request.deadline_ms).toISOString(),
    statistics: request.statistics,
  };
  const { arms: _arms, ...common } = plan;
  return {
    type: 'eval_started',
    body: {
      requester: request.requester,
      request_id: request.request_id,
      request_digest: requestDigest(request),
      plan,
      trust_store: trustStore,
      common_digest: sha256Hex(utf8(canonicalJson({ ...common, software }))) as EntryHash,
      software,
      report_version: REPORT_VERSION,
    },
  };
}
