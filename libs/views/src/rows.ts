import { z } from 'zod';
import { type JsonObject, lessonSchema, usageSchema, verdictSchema } from '#lib/ledger';

const count = z.int().min(0);
const text = z.string();
const counts = z.strictObject({ pass: count, fail: count, unverifiable: count });

/** `reporting`: closed complete, and its report is not in the ledger yet. */
const status = z.enum(['open', 'reporting', 'complete', 'cancelled', 'failed']);

/** One evaluation in a list. All times are what its entries claim. */
export const evaluationRowSchema = z.strictObject({
  eval_run_id: text,
  contract_id: text,
  requester: text,
  request_id: text,
  status,
  /** Why it was closed. */
  reason: text.nullable(),
  verdict: text.nullable(),
  summary: text.nullable(),
  report_ref: text.nullable(),
  started_at: text,
  deadline: text,
  closed_at: text.nullable(),
  repeats: count,
  replicates: count,
  runs: z.strictObject({ planned: count, requested: count, anchored: count }),
  arms: z.array(z.strictObject({ arm: text, planned: count, requested: count, anchored: count, counts })),
  /** As all runs together reported it, superseded work included. */
  usage: usageSchema,
  max_cost_nano_usd: count.nullable(),
  lessons: z.strictObject({ promoted: count, rejected: count }),
  /** Records of its ledgers: entries on the live chains, and what else was met. */
  records: z.strictObject({ joined: count, duplicates: count, superseded: count, foreign: count }),
});
export type EvaluationRow = z.infer<typeof evaluationRowSchema>;

/**
 * What reading a ledger from the log has shown: signatures hold, and the live chain is linked. It is no verification: `verifyEvaluation`
 * also checks the plan, the verdicts, the lessons and the sums, and trusts no store.
 */
export const ledgerRowSchema = z.strictObject({
  ledger: text,
  /** A run is `requested`, `open`, `sealed`, then `anchored`; the evaluation `open`, `closed`, then `reported`. */
  state: z.enum(['requested', 'open', 'sealed', 'anchored', 'closed', 'reported']),
  entries: count,
  head_hash: text.nullable(),
  /** Of all entries; null before the ledger ends. */
  root_hash: text.nullable(),
  /** Of a run: whether entries, head and root in its anchor are those of its chain; null before. */
  anchor: z.strictObject({ ref: text, agrees: z.boolean() }).nullable(),
  verdict: verdictSchema.nullable(),
  verdict_ref: text.nullable(),
  /** How often another writer took over. */
  writers_changed: count,
  duplicates: count,
  superseded: count,
  /** Records under the evaluation's name that are no entries of it; always 0 for a run, since nobody knows whose they would be. */
  foreign: count,
  /** When its last entry was written, as that claims. */
  last_at: text.nullable(),
});
export type LedgerRow = z.infer<typeof ledgerRowSchema>;

/** One lesson in one evaluation. */
export const lessonRowSchema = z.strictObject({
  lesson: text,
  /** The run that extracted it; null for one that the evaluation started with. */
  child_run_id: text.nullable(),
  state: z.enum(['starting', 'extracted', 'promoted', 'rejected']),
  /** Which gate rejected it, and why. */
  gate: text.nullable(),
  reason: text.nullable(),
  /** Whether the ledger of its run is anchored: before, nothing rests on it. */
  anchored: z.boolean(),
  /** Null for a starting lesson, whose text is in its proof. */
  content: lessonSchema.nullable(),
  /** See `LessonCount` in libs/lessons. */
  counters: z.strictObject({ offered: count, rendered: count, cited: count, after: counts }),
});
export type LessonRow = z.infer<typeof lessonRowSchema>;

/** The signed report's body with its `report_ref`, as it stands in the ledger. */
export type ReportRow = JsonObject;
