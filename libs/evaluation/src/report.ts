import { z } from 'zod';
import { memorySchema, verdictSchema } from '#lib/ledger';

const count = z.int().min(0);
const known = z.number().nullable();

const usage = z.strictObject({
  cost_usd: known.describe('USD; null: nothing was measured'),
  steps: count,
  input_tokens: known,
  output_tokens: known,
  unmeasured_calls: count.describe('calls that were started and whose tokens nobody knows: they are in no sum'),
  unpriced_calls: count
    .exactOptional()
    .describe('calls whose tokens were measured and whose cost is unknown; version 1 counts them as unmeasured'),
});
export type ReportUsage = z.infer<typeof usage>;

const counts = z.strictObject({ pass: count, fail: count, unverifiable: count });
export type Counts = z.infer<typeof counts>;

const child = z.strictObject({
  child_run_id: z.string(),
  contract: count,
  replicate: count,
  repeat: count,
  case: z.string().nullable(),
  verdict: verdictSchema,
  verdict_ref: z.string(),
  anchor_ref: z.string(),
  root_hash: z.string(),
  head_hash: z.string(),
  usage,
});
export type ReportChild = z.infer<typeof child>;

const arm = z.strictObject({
  arm: z.string(),
  memory: memorySchema,
  counts,
  pass_rate: z.number().min(0).max(1),
  usage,
  children: z.array(child),
});
export type ReportArm = z.infer<typeof arm>;

const position = z.strictObject({
  runs: count,
  counts,
  pass_rate: z.number().min(0).max(1),
  usage,
  lessons_held: count.describe('lessons that the runs at this position were offered'),
  lessons_rendered: count.describe('lessons that stood in the context of the runs at this position'),
  lesson_tokens: count.describe('their estimated tokens'),
});
export type CurvePosition = z.infer<typeof position>;

const interval = z.tuple([z.number(), z.number()]).nullable();
const metric = z.enum(['pass_rate', 'cost_usd', 'steps', 'total_tokens']);
const test = z.strictObject({ method: z.string(), p: z.number() }).nullable();
const finding = z.enum(['not_treated', 'descriptive', 'powerless', 'better', 'worse', 'equivalent', 'inconclusive']);

export const evidenceSchema = z.strictObject({
  method_version: z.int().min(1),
  finding,
  unit: z.enum(['replicate', 'contract', 'unit']),
  units: count,
  primary: z.strictObject({
    metric,
    estimate: known,
    interval,
    test,
    p_floor: known,
    p_floor_realised: known,
    detectable_effect: known,
    bounds: interval.describe('of the pass-rate difference: every unverifiable run counted against, and for, learning'),
  }),
  secondary: z.array(z.strictObject({ metric: z.string(), estimate: known, interval, test, p_adjusted: known })),
  arms: z.record(z.string(), z.strictObject({ runs: count, counts, pass_rate_bounds: interval })),
  consistency: z.strictObject({ flip_rate: known, pass_at_k: known, pass_hat_k: known }),
  contracts: z.array(z.json()),
  assumptions: z.array(z.string()),
  warnings: z.array(z.string()),
});
export type Evidence = z.infer<typeof evidenceSchema>;

const prompts = z.strictObject({
  compared: count.describe('pairs of runs of which is known what both agents were told beside the lessons'),
  different: count.describe('compared pairs whose agents were told something else beside the lessons'),
  not_compared: count.describe(
    'pairs of which a run came to no prompt (a constant answer has none), or none was recorded',
  ),
});
export type PromptComparison = z.infer<typeof prompts>;

/**
 * What a report holds follows from the version that `eval_started` names. 2: `environment.prompts`, and `unpriced_calls` apart from `unmeasured_calls`;
 * 1 has neither.
 */
export const REPORT_VERSION = 2;
export type ReportVersion = 1 | typeof REPORT_VERSION;

/** The EvalReport, as INTERFACE.md has it: measured but for `evidence`. `report_ref` is null inside the signed entry. */
export const reportSchema = z.strictObject({
  eval_run_id: z.string(),
  contract_id: z.string(),
  repeats: z.int().min(1),
  replicates: z.int().min(1),
  runs: z.int().min(1).describe('per arm'),
  verdict: z.enum(['pass', 'fail']),
  arms: z.array(arm).length(2),
  controls: z.array(arm),
  delta: z.strictObject({
    pass_rate: z.number(),
    cost_usd: known,
    steps: z.int(),
    input_tokens: known,
    output_tokens: known,
    total_tokens: known,
  }),
  curve: z.array(z.strictObject({ repeat: z.int().min(1), learning_on: position, learning_off: position })),
  spend: z.strictObject({
    agent: usage,
    tools: usage,
    reviewers: usage,
    extraction: usage,
    superseded: usage.describe('by writers that were displaced: paid and of no use'),
    interrupted: usage.describe('by attempts cut short by a crash: paid and of no use'),
    unmeasured_calls: count,
    unpriced_calls: count.exactOptional(),
  }),
  evidence: evidenceSchema,
  environment: z.strictObject({
    truss: z.string(),
    node: z.string(),
    arms_differ_only_in_memory: z
      .boolean()
      .describe('each pair had one case and one seed, and no compared pair was told anything else beside the lessons'),
    prompts: prompts.exactOptional().describe('absent in version 1'),
  }),
  summary: z.string(),
  report_ref: z.string().nullable(),
});
export type EvalReport = z.infer<typeof reportSchema>;
