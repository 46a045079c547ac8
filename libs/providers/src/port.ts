import type { JsonObject } from '#lib/ledger';

/** One tool call of a model. `malformed` holds the text of arguments that are not a JSON object which a ledger can hold. */
export type ToolCall = { id: string; name: string } & ({ arguments: JsonObject } | { malformed: string });

export type ModelMessage =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; tool_calls: readonly ToolCall[] }
  | { role: 'tool'; tool_call_id: string; name: string; text: string };

export type ModelTool = { name: string; description: string; json_schema: JsonObject };

/** All that is asked of a model, and nothing of where it is served or what it costs. Plain JSON: see {@link requestDigest}. */
export type ModelRequest = {
  model: string;
  /** `null`: the provider's default. */
  temperature: number | null;
  system: string;
  messages: readonly ModelMessage[];
  tools: readonly ModelTool[];
  max_output_tokens: number;
  /** The answer's text is to be JSON of this schema. Providers differ in how well they hold to it: check the text. */
  structured: { name: string; json_schema: JsonObject } | null;
};

/** Tokens as the provider counted them; `null` is "not reported, or not believable", never zero. Cached and written input are part of
 * `input_tokens`, reasoning is part of `output_tokens`. */
export type ModelUsage = {
  input_tokens: number | null;
  output_tokens: number | null;
  cached_input_tokens: number | null;
  cache_write_tokens: number | null;
  reasoning_tokens: number | null;
};

export type ModelAnswer = {
  text: string;
  tool_calls: ToolCall[];
  finish: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other';
  usage: ModelUsage;
  /** As the provider named it, which may not be what was asked; `null` when it named none. */
  model: string | null;
  /** Attempts before the one that answered. */
  retries: number;
  /** Of these, the ones that the provider may have charged for: sent, and then cut off. */
  unmeasured_attempts: number;
  /** JSON text of the usage as reported, at most 4,096 characters; `null` when none was. */
  raw_usage: string | null;
  /** What of the request the provider's adapter could not pass on, such as a temperature for a model that takes none. */
  warnings: string[];
};

export type CallOptions = {
  signal: AbortSignal;
  /** Milliseconds from now in which the call ends, waits and retries included: what is left of the run's time. */
  deadlineMs: number;
  /** For recordings: who asks, the same in each evaluation of the contract, such as `on.1.2/agent`. */
  lane?: string;
  /** For recordings: how often this lane asked exactly this before, where a resumed run knows; else the port counts. */
  occurrence?: number;
};

/** The one path to a model. */
export type ModelPort = {
  /** @throws ProviderError */
  call(request: ModelRequest, options: CallOptions): Promise<ModelAnswer>;
};
