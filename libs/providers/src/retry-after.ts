/**
 * Milliseconds that a `Retry-After` header asks to wait (RFC 9110 section 10.2.3: whole seconds or an HTTP date); `null` without one, or
 * with one that is neither. A date is taken against the answer's own `Date`, so that clocks need not agree.
 */
export function retryAfter(headers: Headers, wallMs: number): number | null {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,12}$/.test(value)) return Number(value) * 1000;
  const until = value === '' ? Number.NaN : Date.parse(value);
  if (Number.isNaN(until)) return null;
  const sent = Date.parse(headers.get('date') ?? '');
  return Math.max(0, until - (Number.isNaN(sent) ? wallMs : sent));
}
