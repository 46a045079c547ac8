import { InvalidArgumentError } from 'commander';
import { usageError } from './exit-codes.js';

/** A whole number from `min` to `max`; 1e3 is one too. For commander's options. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^\s*[+]?[\d.]+(e[+]?\d+)?\s*$/i.test(text) ? Number(text) : Number.NaN;
    if (!Number.isSafeInteger(value) || value < min || value > max) {
      const upTo = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`;
      throw new InvalidArgumentError(`Expected a whole number ${upTo}.`);
    }
    return value;
  };
}

/** A decimal number that `allowed` accepts; `expected` says which. */
export function decimal(expected: string, allowed: (value: number) => boolean): (text: string) => number {
  return (text) => {
    const value = /^\s*[+]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(text) ? Number(text) : Number.NaN;
    if (!Number.isFinite(value) || !allowed(value)) throw new InvalidArgumentError(`Expected ${expected}.`);
    return value;
  };
}

/** Decimal USD as whole nano-dollars, by its text: no float comes between. */
export function nanoDollars(text: string): number {
  const match = /^\s*\$?(\d{1,6})(?:\.(\d{1,9}))?\s*$/.exec(text);
  const nano = match === null ? Number.NaN : Number(`${match[1]}${(match[2] ?? '').padEnd(9, '0')}`);
  if (!Number.isSafeInteger(nano) || nano === 0) {
    throw new InvalidArgumentError('Expected an amount in USD above 0 with at most nine decimals, such as 2.50.');
  }
  return nano;
}

export function oneOf<const T extends string>(...allowed: readonly T[]): (text: string) => T {
  return (text) => {
    const found = allowed.find((one) => one === text);
    if (found === undefined) throw new InvalidArgumentError(`Expected one of: ${allowed.join(', ')}.`);
    return found;
  };
}

/** For an option that a later release brings: said at once, before anything else is looked at. */
export function notInThisVersion(option: string, instead: string): (text: string) => never {
  return () => {
    throw usageError(`${option} is not in this version: ${instead}`);
  };
}
