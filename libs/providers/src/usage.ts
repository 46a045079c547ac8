import type { JsonObject, JsonValue } from '#lib/ledger';
import type { ModelUsage } from './port.js';

/** No call of today's models comes near: a count beyond it is a fault of the counter. */
const MAX_TOKENS = 100_000_000;
const MAX_RAW = 4096;

export const UNKNOWN_USAGE: ModelUsage = {
  input_tokens: null,
  output_tokens: null,
  cached_input_tokens: null,
  cache_write_tokens: null,
  reasoning_tokens: null,
};

/**
 * Usage as the chat-completions protocol reports it (`prompt_tokens` …). Read here and not by the SDK, which takes a missing count for 0.
 * @param answered whether the answer holds anything: then no output at all is not believable, and no input never is
 */
export function readChatUsage(raw: JsonValue | undefined, answered: boolean): ModelUsage {
  if (!isObject(raw)) return UNKNOWN_USAGE;
  const input = isObject(raw['prompt_tokens_details']) ? raw['prompt_tokens_details'] : {};
  const output = isObject(raw['completion_tokens_details']) ? raw['completion_tokens_details'] : {};
  return believable(answered, {
    input_tokens: count(raw['prompt_tokens']),
    output_tokens: count(raw['completion_tokens']),
    cached_input_tokens: count(input['cached_tokens']),
    cache_write_tokens: count(input['cache_write_tokens']),
    reasoning_tokens: count(output['reasoning_tokens']),
  });
}

/** Usage as Anthropic's messages report it, whose `input_tokens` leave out what was read from or written to the cache. */
export function readMessagesUsage(raw: JsonValue | undefined, answered: boolean): ModelUsage {
  if (!isObject(raw)) return UNKNOWN_USAGE;
  const parts = [raw['input_tokens'], raw['cache_read_input_tokens'] ?? 0, raw['cache_creation_input_tokens'] ?? 0];
  const counts = parts.map(count);
  return believable(answered, {
    input_tokens: counts.includes(null) ? null : counts.reduce<number>((sum, part) => sum + (part ?? 0), 0),
    output_tokens: count(raw['output_tokens']),
    cached_input_tokens: count(raw['cache_read_input_tokens']),
    cache_write_tokens: count(raw['cache_creation_input_tokens']),
    reasoning_tokens: null,
  });
}

/** JSON text of what was reported, cut to what a ledger wants to hold. `JSON.stringify` escapes lone surrogates. */
export function rawUsage(raw: JsonValue | undefined): string | null {
  return raw === undefined || raw === null ? null : JSON.stringify(raw).slice(0, MAX_RAW).toWellFormed();
}

function believable(answered: boolean, usage: ModelUsage): ModelUsage {
  const input = usage.input_tokens === 0 ? null : usage.input_tokens;
  const output = usage.output_tokens === 0 && answered ? null : usage.output_tokens;
  const part = (of: number | null, whole: number | null) => (of !== null && whole !== null && of > whole ? null : of);
  const cached = part(usage.cached_input_tokens, input);
  return {
    input_tokens: input,
    output_tokens: output,
    cached_input_tokens: cached,
    cache_write_tokens: part(usage.cache_write_tokens, input === null ? null : input - (cached ?? 0)),
    reasoning_tokens: part(usage.reasoning_tokens, output),
  };
}

function count(value: JsonValue | undefined): number | null {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MAX_TOKENS) return null;
  return value === 0 ? 0 : value;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
