import type { JsonValue } from '#lib/ledger';

/** Takes a key's value out of text, wherever it came from. */
export type Redact = (text: string) => string;

/** Anything shorter is no secret but a word such as "none", which an answer may well contain. */
const MIN_SECRET_IN_ANSWERS = 16;

/** Replaces the value, and how a URL writes it, by `[redacted NAME]`. */
export function redactor(name: string | null, value: string | null): Redact {
  if (name === null || value === null || value === '') return (text) => text;
  const mark = `[redacted ${name}]`;
  return (text) => text.replaceAll(value, mark).replaceAll(encodeURIComponent(value), mark);
}

/** For answers, which must not change because a dummy key is an everyday word. */
export function answerRedactor(name: string | null, value: string | null): Redact {
  return redactor(name, value !== null && value.length >= MIN_SECRET_IN_ANSWERS ? value : null);
}

/** Redacts every text in a JSON value, keys included. */
export function redactJson(value: JsonValue, redact: Redact): JsonValue {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item: JsonValue) => redactJson(item, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [redact(key), redactJson(item, redact)]));
}

/** A copy of a cause with its code, message and causes: other properties may hold headers or bodies, so they stay behind. */
export function safeCause(cause: unknown, redact: Redact, depth = 0): Error | undefined {
  if (!(cause instanceof Error) || depth > 4) return undefined;
  const inner = safeCause(cause.cause, redact, depth + 1);
  const code = errorCode(cause);
  const message = `${code === null || cause.message.includes(code) ? '' : `${code}: `}${redact(cause.message).slice(0, 500)}`;
  return new Error(message, inner === undefined ? undefined : { cause: inner });
}

/** The code of a system or undici error, the outermost that has one. */
export function errorCode(error: unknown): string | null {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if ('code' in at && typeof at.code === 'string') return at.code;
  }
  return null;
}
