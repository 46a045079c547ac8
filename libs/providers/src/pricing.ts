import { createRequire } from 'node:module';
import type { Contract, Provider } from '#lib/contract';
import { providerOf } from './open.js';
import type { ModelUsage } from './port.js';
import { flat, highest, rateFor, type Rates, tableRates } from './rates.js';

/** What a provider's calls cost, settled once for a run, so that a price that changes in between changes nothing. */
export type Pricing = {
  rates: Rates | null;
  /** One phrase for the ledger: where the prices come from, or why there are none. */
  basis: string;
};

const table = '@pydantic/genai-prices';

/**
 * The prices of a provider: the contract's, else those of the price table as of a day, else unknown. The table ships with its package and
 * fetches nothing. An address that it does not know has unknown prices, whatever the model is called.
 * @param atMs milliseconds since 1970
 */
export async function pricingOf(name: string, contract: Pick<Contract, 'providers'>, atMs: number): Promise<Pricing> {
  const provider = providerOf(contract, name);
  const { price, record_from: from, model } = provider;
  if (price !== null) {
    const rates: Rates = {
      input: flat(price.input_nano_usd_per_mtok),
      output: flat(price.output_nano_usd_per_mtok),
      cached_input: null,
      cache_write: null,
      reasoning: null,
      calls: 0n,
    };
    return { rates, basis: 'the contract' };
  }
  const asked = from === null ? provider : providerOf(contract, from);
  const at = tableProvider(asked);
  if (at === null || model === null)
    return { rates: null, basis: 'unknown: a recording, and the contract has no price' };
  const { calcPrice } = await import('@pydantic/genai-prices');
  // No tokens: only the entry that is found matters. It computes in floats, so it computes nothing here.
  const found = calcPrice({ input_tokens: 0, output_tokens: 0 }, model, { ...at, timestamp: new Date(atMs) });
  const rates = found === null ? null : tableRates(found.model_price);
  if (found === null || rates === null) {
    return { rates: null, basis: `unknown: neither the contract nor ${tableName()} has a price for this model here` };
  }
  const day = new Date(atMs).toISOString().slice(0, 10);
  return { rates, basis: `${tableName()}: ${found.provider.id}/${found.model.id} on ${day}` };
}

function tableProvider({ kind, base_url: url }: Provider): { providerId: string } | { providerApiUrl: string } | null {
  if (kind === 'replay') return null;
  if (url !== null) return { providerApiUrl: url };
  return kind === 'openai-compatible' ? null : { providerId: kind };
}

function tableName(): string {
  const { dependencies } = createRequire(import.meta.url)('#package.json') as { dependencies: Record<string, string> };
  return `${table} ${dependencies[table] ?? ''}`.trim();
}

/** Rates are per million, so sums are kept in millionths of a nano-dollar. */
const MILLION = 1_000_000n;

/**
 * What a call cost, in integer nano-dollars, rounded up; `null` when its price or its tokens are unknown. Input of which the provider does
 * not say that it came from its cache pays in full.
 */
export function priceOf({ rates, basis }: Pricing, usage: ModelUsage): { cost_nano_usd: number | null; basis: string } {
  const { input_tokens: input, output_tokens: output } = usage;
  if (rates === null) return { cost_nano_usd: null, basis };
  if (input === null || output === null)
    return { cost_nano_usd: null, basis: 'unknown: the provider reported no tokens' };
  const cached = usage.cached_input_tokens ?? 0;
  const written = usage.cache_write_tokens ?? 0;
  const reasoning = usage.reasoning_tokens ?? 0;
  const at = (rate: Rates['input'], tokens: number) => rateFor(rate, input) * BigInt(tokens);
  const sum =
    at(rates.input, input - cached - written) +
    at(rates.cached_input ?? rates.input, cached) +
    at(rates.cache_write ?? rates.input, written) +
    at(rates.output, output - reasoning) +
    at(rates.reasoning ?? rates.output, reasoning) +
    rates.calls * 1000n;
  return { cost_nano_usd: toNano(sum), basis };
}

/**
 * The most that a call can cost, in integer nano-dollars; `null` when the price is unknown. Every token at the highest rate that a token
 * of its direction can have.
 * @param inputTokens at most: see `inputTokensUpperBound`
 */
export function worstCase({ rates }: Pricing, inputTokens: number, outputTokens: number): number | null {
  if (rates === null) return null;
  const most = (...options: (Rates['input'] | null)[]) =>
    options.reduce((max, rate) => (rate !== null && highest(rate) > max ? highest(rate) : max), 0n);
  const sum =
    most(rates.input, rates.cached_input, rates.cache_write) * BigInt(inputTokens) +
    most(rates.output, rates.reasoning) * BigInt(outputTokens) +
    rates.calls * 1000n;
  return toNano(sum);
}

function toNano(sum: bigint): number | null {
  const nano = (sum + MILLION - 1n) / MILLION;
  return nano <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(nano) : null;
}
