import type { ModelPrice } from '@pydantic/genai-prices';

/** Nano-dollars for a million tokens, as an exact integer: the unit of contracts. */
export type Rate = {
  base: bigint;
  /** In ascending order: a call with more input tokens than `above` pays `price` for all of them. */
  tiers: readonly { above: number; price: bigint }[];
};

/** What a model costs. `null`: the table has no price of its own for these, and they cost as what they are part of. */
export type Rates = {
  input: Rate;
  output: Rate;
  cached_input: Rate | null;
  cache_write: Rate | null;
  reasoning: Rate | null;
  /** Nano-dollars for a thousand calls. */
  calls: bigint;
};

export function flat(price: bigint | number): Rate {
  return { base: BigInt(price), tiers: [] };
}

/** The rates of a price-table entry for text, or `null` when it does not say what input and output cost. */
export function tableRates(price: ModelPrice): Rates | null {
  const input = toRate(price['input_mtok']);
  const output = toRate(price['output_mtok']);
  if (input === null || output === null) return null;
  return {
    input,
    output,
    cached_input: toRate(price['cache_read_mtok']),
    cache_write: toRate(price['cache_write_mtok']),
    reasoning: toRate(price['output_reasoning_mtok']),
    calls: toRate(price['requests_kcount'])?.base ?? 0n,
  };
}

/** The most that a token of this rate can cost. */
export function highest(rate: Rate): bigint {
  return rate.tiers.reduce((most, { price }) => (price > most ? price : most), rate.base);
}

export function rateFor(rate: Rate, inputTokens: number): bigint {
  return rate.tiers.reduce((price, tier) => (inputTokens > tier.above ? tier.price : price), rate.base);
}

function toRate(value: ModelPrice[string]): Rate | null {
  if (value === undefined) return null;
  if (typeof value === 'number') return flat(nano(value));
  const tiers = value.tiers.map(({ start, price }) => ({ above: start, price: nano(price) }));
  return { base: nano(value.base), tiers: tiers.sort((a, b) => a.above - b.above) };
}

/** Dollars to nano-dollars by their shortest decimal text, which is what the table's author wrote; past nine decimals rounded up. */
function nano(dollars: number): bigint {
  const [, whole = '0', decimals = '', exponent = '0'] =
    /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(dollars)) ?? [];
  const shift = 9 + Number(exponent) - decimals.length;
  const digits = BigInt(whole + decimals);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return (digits + divisor - 1n) / divisor;
}
