import { canonicalJson, type JsonObject, type JsonValue } from '#lib/ledger';
import type { Key } from './key.js';
import type { ModelAnswer, ToolCall } from './port.js';
import { redactJson } from './redact.js';
import type { CallResult, LiveKind } from './sdk.js';
import { isObject } from './transport.js';
import { rawUsage, readChatUsage, readMessagesUsage } from './usage.js';

/** What the model said, from the SDK's reading of it and, for usage and model name, from the body itself. */
export function readAnswer(
  kind: LiveKind,
  result: CallResult,
  body: JsonObject,
  { redactAnswer: redact }: Key,
): Omit<ModelAnswer, 'retries' | 'unmeasured_attempts'> {
  const clean = (text: string) => redact(text.toWellFormed());
  const text = clean(result.content.map((part) => (part.type === 'text' ? part.text : '')).join(''));
  const calls = result.content.flatMap((part): ToolCall[] => {
    if (part.type !== 'tool-call') return [];
    return [{ id: clean(part.toolCallId), name: clean(part.toolName), ...toArguments(part.input, redact) }];
  });
  const read = kind === 'anthropic' ? readMessagesUsage : readChatUsage;
  const model = body['model'];
  const raw = rawUsage(body['usage']);
  return {
    text,
    tool_calls: calls,
    finish: finishOf(result.finishReason.unified),
    usage: read(body['usage'], text !== '' || calls.length > 0),
    model: typeof model === 'string' && model !== '' ? clean(model).slice(0, 200).toWellFormed() : null,
    raw_usage: raw === null ? null : redact(raw),
    warnings: result.warnings.map(describe),
  };
}

/** Arguments that are no object, or that a ledger cannot hold (too deep, numbers past 2^53), stay text. */
function toArguments(
  input: string | undefined,
  redact: (text: string) => string,
): { arguments: JsonObject } | { malformed: string } {
  const text = input ?? '';
  try {
    // A tool without parameters is called with no text by some providers.
    const parsed: unknown = text.trim() === '' ? {} : JSON.parse(text);
    if (isObject(parsed)) {
      canonicalJson(parsed);
      const clean: JsonValue = redactJson(parsed, redact);
      if (isObject(clean)) return { arguments: clean };
    }
  } catch {
    // Neither JSON nor fit for a ledger: kept as it came.
  }
  return { malformed: redact(text.toWellFormed()) };
}

function finishOf(reason: CallResult['finishReason']['unified']): ModelAnswer['finish'] {
  switch (reason) {
    case 'stop':
    case 'length':
      return reason;
    case 'tool-calls':
      return 'tool_calls';
    case 'content-filter':
      return 'content_filter';
    case 'error':
    case 'interrupted':
    case 'other':
      return 'other';
  }
}

function describe(warning: CallResult['warnings'][number]): string {
  if (warning.type === 'other') return warning.message;
  if (warning.type === 'deprecated') return `${warning.setting}: ${warning.message}`;
  return `${warning.type} ${warning.feature}${warning.details === undefined ? '' : `: ${warning.details}`}`;
}
