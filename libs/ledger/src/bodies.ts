import { z } from 'zod';
import { CHILD_RUN_ID, HASH, LEDGER_REF } from './ids.js';
import type { ChildRunId, EntryHash, KeyId, LedgerRef } from './ids.js';
import type { JsonObject } from './jcs.js';
import { count, spendSchema, usageSchema } from './usage.js';

// Shapes only narrow: what they accept is what stands in the bytes (no defaults, no coercion).
const hash = z
  .string()
  .regex(HASH)
  .transform((s) => s as EntryHash);
const ref = z
  .string()
  .regex(LEDGER_REF)
  .transform((s) => s as LedgerRef);
const childId = z
  .string()
  .regex(CHILD_RUN_ID)
  .transform((s) => s as ChildRunId);
const keyId = z
  .string()
  .regex(HASH)
  .transform((s) => s as KeyId);
const session = z.string().regex(/^[0-9a-f]{32}$/);
const digest = z.string().regex(HASH);
const text = z.string();
const json = z.custom<JsonObject>((v) => typeof v === 'object' && v !== null && !Array.isArray(v));

/** A body or text kept outside the entry, by the SHA-256 of its bytes and their number. */
export const attachmentSchema = z.strictObject({ sha256: z.string().regex(HASH), size: count });
export type AttachmentRef = z.infer<typeof attachmentSchema>;

/** Transcript: short text stands in the entry; long text is an attachment, which may be erased later. */
export const blobSchema = z.union([z.strictObject({ text }), attachmentSchema]);
export type Blob = z.infer<typeof blobSchema>;

export const writerSchema = z.strictObject({ key: keyId, session });
/** A writer is a key in one session: 128 random bits drawn at each attempt to become a ledger's writer. */
export type Writer = z.infer<typeof writerSchema>;

export const verdictSchema = z.enum(['pass', 'fail', 'unverifiable']);
export type Verdict = z.infer<typeof verdictSchema>;

const onOff = z.enum(['on', 'off']);
/** The resolved memory configuration of an arm: the one thing in which arms differ. */
export const memorySchema = z.strictObject({
  extraction: onOff,
  promotion: z.enum(['eager', 'off']),
  recall: z.enum(['verified', 'off']),
});
export type MemoryConfig = z.infer<typeof memorySchema>;

export const armSchema = z.strictObject({
  /** Stands in the child run id: `on`, `off`, or a control's name. */
  name: z.string().regex(/^[a-z][a-z_-]{0,31}$/),
  kind: z.enum(['learning_on', 'learning_off', 'control']),
  memory: memorySchema,
});
export type Arm = z.infer<typeof armSchema>;

const limit = count.nullable();
export const budgetSchema = z.strictObject({
  max_cost_nano_usd: limit,
  max_steps: limit,
  max_input_tokens: limit,
  max_output_tokens: limit,
  timeout_ms: limit,
});
export type Budget = z.infer<typeof budgetSchema>;

export const planSchema = z.strictObject({
  contracts: z.array(z.strictObject({ digest: hash, contract: json })).min(1),
  arms: z.array(armSchema).min(2),
  repeats: z.int().min(1),
  replicates: z.int().min(1),
  /** Schedule, order of cases and agent seeds follow from it: see `schedule.ts` in libs/evaluation. */
  seed: z.int().min(0),
  concurrency: z.int().min(1),
  starting_lessons: z.array(z.strictObject({ lesson: ref, proof: attachmentSchema })),
  offer_rule: z.string(),
  max_cost_nano_usd: limit,
  deadline: z.string(),
  statistics: z.strictObject({
    method_version: z.int().min(1),
    primary: z.enum(['pass_rate', 'cost_usd', 'steps', 'total_tokens']),
    alpha: z.number(),
    margin: z.number(),
    min_units: z.int().min(1),
  }),
});
/** What will be run, fixed before any run: every child id follows from it. */
export type Plan = z.infer<typeof planSchema>;

export const lessonSchema = z.strictObject({
  title: text,
  when: text,
  when_not: text,
  /** One to three sentences, or a worked example. */
  text,
  extractor: z.enum(['exemplar', 'agent', 'llm']),
  /** The entries that the lesson rests on, the verdict among them. */
  evidence: z.array(ref).min(1),
  criteria: z.array(text),
  labelled_by: z.enum(['machine', 'panel', 'agent']),
  model: text.nullable(),
  prompt_digest: text.nullable(),
  contract: text,
  case: text.nullable(),
  family: text.nullable(),
  scope: text,
  tokens: count,
  /** The lowest of what it came from. */
  trust: z.enum(['machine', 'panel', 'agent']),
  supersedes: z.array(ref),
});
export type Lesson = z.infer<typeof lessonSchema>;

const vote = z.enum(['approve', 'reject', 'abstain']);
export type Vote = z.infer<typeof vote>;
const limitName = z.enum(['cost', 'steps', 'input_tokens', 'output_tokens', 'time', 'evaluation_cost']);
export type LimitName = z.infer<typeof limitName>;
const change = z.enum(['added', 'modified', 'deleted']);

const agentEvent = z.discriminatedUnion('type', [
  /** The intent to start the agent, confirmed before it starts: what it spends from here on may never be measured. */
  z.strictObject({
    type: z.literal('started'),
    /** Digest of what its context file says beside the lessons, the name of the run and the budget. Earlier versions recorded none. */
    context: digest.exactOptional(),
  }),
  z.strictObject({ type: z.literal('step'), name: text }),
  z.strictObject({ type: z.literal('usage'), usage: usageSchema }),
  z.strictObject({ type: z.literal('note'), text }),
  z.strictObject({ type: z.literal('lesson'), title: text, when: text, when_not: text, text }),
  z.strictObject({ type: z.literal('cited'), lesson: text }),
  /** A line that is no event: kept so that nothing an agent said is lost, counted for nothing. */
  z.strictObject({ type: z.literal('garbage'), text }),
]);
export type AgentEvent = z.infer<typeof agentEvent>;

/** Why a model is called: by the agent, by a reviewer of the panel, or to write lessons. */
const purpose = z.enum(['agent', 'review', 'extraction']);
export type CallPurpose = z.infer<typeof purpose>;

/** SHA-256 of each layer of a prompt of the agent. */
export const promptLayersSchema = z.strictObject({
  /** JCS of all that is no text: model, temperature, tools, form of the answer. Not the room for the answer, which is what is left of the budget. */
  settings: digest,
  /** L0. */
  system: digest,
  /** L1. */
  contract: digest,
  /** L2. */
  lessons: digest,
  /** JCS of the messages that follow. */
  transcript: digest,
});
export type PromptLayers = z.infer<typeof promptLayersSchema>;

export const BODIES = {
  writer_changed: z.strictObject({ displaced: writerSchema, reason: text }),

  eval_started: z.strictObject({
    requester: text,
    request_id: text,
    request_digest: hash,
    plan: planSchema,
    trust_store: attachmentSchema,
    /** Digest of all in which the arms do not differ. */
    common_digest: hash,
    software: z.strictObject({ truss: text, node: text }),
    /** What its report holds; absent: 1. */
    report_version: z.int().min(2).exactOptional(),
  }),
  child_requested: z.strictObject({
    child_run_id: childId,
    case: text.nullable(),
    seed: count,
    /** The opaque name under which agents and reviewers see the run: the id would tell them the arm. */
    run: text,
    lessons: z.array(ref),
  }),
  child_anchor: z.strictObject({
    child_run_id: childId,
    entries: z.int().min(1),
    root_hash: hash,
    head_hash: hash,
    verdict: verdictSchema,
    verdict_ref: ref,
    usage: usageSchema,
    superseded: z.strictObject({ count, hashes: z.array(hash), usage: usageSchema }),
  }),
  eval_closed: z.strictObject({ outcome: z.enum(['complete', 'cancelled', 'failed']), anchors: count, reason: text }),
  eval_report: json,

  run_started: z.strictObject({
    request: ref,
    contract_digest: hash,
    budget: budgetSchema,
    executor: z.strictObject({ truss: text, node: text }),
  }),
  lessons_recalled: z.strictObject({
    used: z.array(z.strictObject({ lesson: ref, tokens: count })),
    refused: z.array(z.strictObject({ lesson: ref, code: text, reason: text })),
    /** The context layer L2, exactly as the agent gets it, and its SHA-256. */
    layer: blobSchema,
    layer_digest: hash,
  }),
  agent_reported: z.strictObject({ events: z.array(agentEvent).min(1) }),
  /** The intent, confirmed before the call: what it spends from here on may never be measured. */
  model_call_started: z.strictObject({
    /** Numbers the calls of this ledger from 1. */
    call: z.int().min(1),
    purpose,
    /** What it is about: a criterion or a lesson under review, or what is extracted from; `null` for the agent. */
    subject: text.nullable(),
    reviewer: text.nullable(),
    provider: text,
    model: text,
    /** The exact request as JSON, and its SHA-256. */
    prompt: blobSchema,
    prompt_digest: hash,
    /** Of a call of the agent. Earlier versions recorded none. */
    layers: promptLayersSchema.exactOptional(),
    /** More than its input can have; `null` where nobody counted. */
    max_input_tokens: limit,
    max_output_tokens: limit,
    /** What it may cost at most; `null` where no price is known. */
    worst_case_nano_usd: limit,
  }),
  model_call_completed: z.strictObject({
    call: z.int().min(1),
    outcome: z.enum(['answered', 'failed']),
    /** Of a failed call: the provider's error. */
    code: text.nullable(),
    reason: text,
    /** JSON of the text and the tool calls of the answer. */
    answer: blobSchema,
    tool_calls: count,
    finish: text,
    /** As the provider named it. */
    model: text.nullable(),
    retries: count,
    usage: usageSchema,
    cached_input_tokens: limit,
    reasoning_tokens: limit,
    price_basis: text,
  }),
  tool_called: z.strictObject({
    call: z.int().min(1),
    /** Its place among the tool calls of that answer, from 0. */
    index: count,
    tool: text,
    arguments: blobSchema,
    ok: z.boolean(),
    result: blobSchema,
  }),
  budget_exhausted: z.strictObject({ limit: limitName, max: count, spent: count }),
  infrastructure_failed: z.strictObject({ where: text, code: text, message: text }),
  workspace_changed: z.strictObject({
    files: z.array(
      z.strictObject({ path: text, change, size: count, sha256: hash.nullable(), executable: z.boolean() }),
    ),
    /** Changes to protected files: recorded here, undone before the criteria are checked. */
    protected: z.array(z.strictObject({ path: text, change })),
    /**
     * JSON object of path -> base64 bytes of the changed files, from which another executor rebuilds the workspace;
     * for a symbolic link `link:` and the base64 of its target.
     */
    content: blobSchema,
  }),
  answer_submitted: z.strictObject({
    /** How the agent ended: by itself, or stopped. */
    ended: z.enum(['exited', 'signalled', 'stopped', 'constant']),
    exit_code: z.int().nullable(),
    signal: text.nullable(),
    output: blobSchema,
    usage: usageSchema,
  }),
  criterion_checked: z.strictObject({
    criterion: text,
    result: verdictSchema,
    reason: text,
    output: blobSchema,
    usage: usageSchema,
  }),
  review_delegated: z.strictObject({ criterion: text, reviewer: text, question_digest: hash }),
  review_returned: z.strictObject({ criterion: text, reviewer: text, vote, reason: text, usage: usageSchema }),
  verdict: z.strictObject({ verdict: verdictSchema, criteria: z.array(ref), reason: text }),
  lesson_extracted: z.strictObject({ lesson: lessonSchema, digest }),
  lesson_checked: z.strictObject({
    lesson: ref,
    gate: z.enum(['verdict', 'checks']),
    check: text,
    passed: z.boolean(),
    reason: text,
  }),
  lesson_reviewed: z.strictObject({ lesson: ref, reviewer: text, vote, reason: text, usage: usageSchema }),
  lesson_promoted: z.strictObject({
    lesson: ref,
    gates: z.array(z.enum(['verdict', 'checks', 'panel'])),
    quorum: count,
    checks: z.array(ref),
    votes: z.array(ref),
  }),
  lesson_rejected: z.strictObject({ lesson: ref, gate: z.enum(['verdict', 'checks', 'panel']), reason: text }),
  run_sealed: z.strictObject({
    /** Entries of this ledger, this one included. */
    entries: z.int().min(1),
    spend: spendSchema,
    usage: usageSchema,
    /** What attempts cut short by a crash had reported: paid, and of no use. */
    interrupted: usageSchema,
    verdict: verdictSchema,
    verdict_ref: ref,
  }),
} as const;

export type EntryType = keyof typeof BODIES;
export type BodyOf<T extends EntryType> = z.output<(typeof BODIES)[T]>;

export function isEntryType(type: string): type is EntryType {
  return Object.hasOwn(BODIES, type);
}
