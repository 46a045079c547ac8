import { z } from 'zod';

/**
 * The resolved contract: what a contract file means, as plain JSON. It is part of the signed plan, and its digest is the
 * SHA-256 of its JCS text. Money is integer nano-dollars (1 USD = 1e9), time integer milliseconds, absent limits `null`.
 */

const count = z.number().int().min(0);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const values = z.record(z.string(), z.json());

/** A file beside the contract that a command names, or a recording that is played; pinned by its bytes. `path` is relative to the contract's folder, POSIX. */
const programSchema = z.strictObject({ path: z.string(), sha256, bytes: count });

const workspaceSchema = z.strictObject({
  /** `workspaceDigest` of the files; `null`: an empty folder. */
  digest: sha256.nullable(),
  files: count,
  bytes: count,
  /** Glob patterns of `node:path` `matchesGlob`, relative to the workspace. */
  protected: z.array(z.string()),
});

const agentSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('command'), command: z.array(z.string()) }),
  /** `answer` is the text (a template), `file` where it is written. */
  z.strictObject({ kind: z.literal('fixed'), answer: z.string(), file: z.string() }),
  z.strictObject({ kind: z.literal('llm'), provider: z.string(), tools: z.array(z.string()), answer_file: z.string() }),
]);

const matchBase = { id: z.string(), kind: z.literal('match'), file: z.string() };
const criterionSchema = z.union([
  z.strictObject({ id: z.string(), kind: z.literal('command'), run: z.array(z.string()), timeout_ms: count }),
  z.strictObject({ ...matchBase, equals: z.string() }),
  /** Compiled with the `u` flag; a match anywhere counts. */
  z.strictObject({ ...matchBase, regex: z.string() }),
  z.strictObject({ ...matchBase, json_schema: values }),
  z.strictObject({ id: z.string(), kind: z.literal('review'), question: z.string() }),
]);

const reviewerSchema = z.union([
  z.strictObject({ name: z.string(), command: z.array(z.string()), instructions: z.string().nullable() }),
  z.strictObject({ name: z.string(), provider: z.string(), instructions: z.string().nullable() }),
]);

const panelSchema = z.strictObject({ quorum: count, reviewers: z.array(reviewerSchema) });

const limit = count.nullable();
const budgetSchema = z.strictObject({
  max_cost_nano_usd: limit,
  max_steps: limit,
  max_input_tokens: limit,
  max_output_tokens: limit,
  timeout_ms: limit,
});

const providerSchema = z.strictObject({
  kind: z.enum(['openai', 'anthropic', 'openai-compatible', 'replay']),
  base_url: z.string().nullable(),
  model: z.string().nullable(),
  /** The name of an environment variable, never a key. */
  api_key_env: z.string().nullable(),
  temperature: z.number().nullable(),
  /** Of kind `replay`, else `null`: the recording, relative to the contract's folder, POSIX. */
  file: z.string().nullable(),
  /** The provider that is asked for what is not recorded yet, and whose answers are added to `file`; `null`: `file` has all. */
  record_from: z.string().nullable(),
  price: z.strictObject({ input_nano_usd_per_mtok: count, output_nano_usd_per_mtok: count }).nullable(),
});

const learningSchema = z.strictObject({
  extractor: z.enum(['exemplar', 'agent', 'llm']),
  /** Of extractor `llm`, else `null`. */
  provider: z.string().nullable(),
  /** In the order in which they run. */
  gates: z.array(z.enum(['verdict', 'checks', 'panel'])),
  scope: z.string(),
  max_recalled: count,
  same_case: z.enum(['exclude', 'allow']),
});

const caseSchema = z.strictObject({ id: z.string(), family: z.string().nullable(), inputs: values, expected: values });

const evaluationSchema = z.strictObject({
  max_cost_nano_usd: limit,
  deadline_ms: count,
  /** `null`: `--repeats` must say. */
  repeats: limit,
  replicates: count,
  primary: z.enum(['pass_rate', 'cost_usd', 'steps', 'total_tokens']),
  alpha: z.number(),
  margin: z.number(),
  min_units: count,
});

/** Shape only: for a contract read back from a signed plan. Its rules were checked by `loadContract`. */
export const contractSchema = z.strictObject({
  id: z.string(),
  title: z.string(),
  instructions: z.string(),
  workspace: workspaceSchema,
  agent: agentSchema,
  criteria: z.array(criterionSchema),
  panel: panelSchema.nullable(),
  budget: budgetSchema,
  providers: z.record(z.string(), providerSchema),
  learning: learningSchema.nullable(),
  cases: z.array(caseSchema),
  evaluation: evaluationSchema,
  programs: z.array(programSchema),
});

export type Contract = z.infer<typeof contractSchema>;
export type Workspace = Contract['workspace'];
export type Agent = z.infer<typeof agentSchema>;
export type Criterion = z.infer<typeof criterionSchema>;
export type MatchCriterion = Extract<Criterion, { kind: 'match' }>;
export type Reviewer = z.infer<typeof reviewerSchema>;
export type Panel = z.infer<typeof panelSchema>;
export type Budget = z.infer<typeof budgetSchema>;
export type Provider = z.infer<typeof providerSchema>;
export type Learning = z.infer<typeof learningSchema>;
export type Case = z.infer<typeof caseSchema>;
export type Evaluation = z.infer<typeof evaluationSchema>;
export type Program = z.infer<typeof programSchema>;

/** What `loadContract` gives: the contract, its digest, and where its files are on this machine. */
export type LoadedContract = {
  contract: Contract;
  /** Hex SHA-256 of the JCS text of `contract`. */
  digest: string;
  /** Absolute: the folder that `programs` are relative to. */
  directory: string;
  /** Absolute; `null`: every run starts in an empty folder. */
  workspaceDir: string | null;
};

/** What of a contract depends on the case, filled in. */
export type RenderedCase = { instructions: string; agent: Agent; criteria: Criterion[] };

/** One file of a workspace. `mode` as git writes it: plain, executable, symbolic link (then `sha256` is of its target text). */
export type WorkspaceFile = { path: string; mode: '100644' | '100755' | '120000'; bytes: number; sha256: string };
