import type { Usage } from '#lib/ledger';

/**
 * a/b - c/d for whole numbers: the nearest double, because numerator and denominator are exact.
 * @throws RangeError where the products pass 2^53, so that no rounding slips in unseen.
 */
export function rateDifference(a: number, b: number, c: number, d: number): number {
  const numerator = a * d - c * b;
  const denominator = b * d;
  if (!Number.isSafeInteger(a * d) || !Number.isSafeInteger(c * b) || !Number.isSafeInteger(denominator)) {
    throw new RangeError('too many runs for an exact difference of rates');
  }
  return noNegativeZero(numerator / denominator);
}

// JCS writes -0 as 0, and a report must survive its own round trip.
function noNegativeZero(value: number): number {
  return value === 0 ? 0 : value;
}

/** Integer nano-dollars to USD: the nearest double. */
export function usd(nano: number): number {
  return noNegativeZero(nano / 1e9);
}

/** Six significant digits, as all of the evidence block. */
export function sixDigits(value: number): number {
  return noNegativeZero(Number(value.toPrecision(6)));
}

export function subtract(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a - b;
}

/** Input and output together; `null` where either is unknown. */
export function totalTokens(usage: Pick<Usage, 'input_tokens' | 'output_tokens'>): number | null {
  return usage.input_tokens === null || usage.output_tokens === null ? null : usage.input_tokens + usage.output_tokens;
}
