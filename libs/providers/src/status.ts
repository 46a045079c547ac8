import { ProviderError, type ProviderErrorCode } from './errors.js';
import type { Redact } from './redact.js';
import { retryAfter } from './retry-after.js';

const MAX_DETAIL = 300;

/** What an answer with a status other than 2xx means. */
export function statusError(response: Response, text: string, redact: Redact, wallMs: number): ProviderError {
  const { status } = response;
  const code = codeOf(status, text);
  const message = `The provider answered ${status}${explain(text, redact)}: ${ADVICE[code]}.`;
  const retryAfterMs = retryAfter(response.headers, wallMs);
  return new ProviderError(code, message, { status, retryAfterMs });
}

type StatusCode = Extract<
  ProviderErrorCode,
  | 'provider_rate_limited'
  | 'provider_overloaded'
  | 'provider_failed'
  | 'provider_refused'
  | 'provider_timeout'
  | 'provider_bad_request'
  | 'provider_bad_answer'
>;

const ADVICE: { readonly [code in StatusCode]: string } = {
  provider_rate_limited: 'it wants fewer calls',
  provider_overloaded: 'it is overloaded',
  provider_failed: 'it failed by itself',
  provider_timeout: 'it did not answer in time',
  provider_refused: 'check the key and what it may do',
  provider_bad_request: 'check the model and the request',
  provider_bad_answer: 'check `base_url`; redirects are not followed, because they would carry the key elsewhere',
};

function codeOf(status: number, text: string): StatusCode {
  if (status === 401 || status === 403) return 'provider_refused';
  // Waiting does not fill an account.
  if (status === 429) return text.includes('insufficient_quota') ? 'provider_refused' : 'provider_rate_limited';
  if (status === 408) return 'provider_timeout';
  if (status === 503 || status === 529) return 'provider_overloaded';
  if (status >= 500) return 'provider_failed';
  return status >= 400 ? 'provider_bad_request' : 'provider_bad_answer';
}

/** The provider's own words, when it says any in JSON: `{"error": {"message"}}` or `{"error"}`. One line, redacted, cut. */
export function explain(text: string, redact: Redact): string {
  let message: unknown;
  try {
    const body = JSON.parse(text) as { error?: { message?: unknown } | string; message?: unknown };
    message = typeof body.error === 'object' ? body.error.message : (body.error ?? body.message);
  } catch {
    return '';
  }
  if (typeof message !== 'string' || message === '') return '';
  const line = redact(message)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ');
  return ` (${line.length > MAX_DETAIL ? `${line.slice(0, MAX_DETAIL)}…` : line})`;
}
