import { calcPrice } from '@pydantic/genai-prices';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Provider } from '#lib/contract';
import { provider } from './model.testkit.js';
import type { ModelUsage } from './port.js';
import { priceOf, pricingOf, worstCase } from './pricing.js';
import { tableRates } from './rates.js';
import { UNKNOWN_USAGE } from './usage.js';

const day = Date.UTC(2026, 0, 2);
const usage = (input: number | null, output: number | null, change: Partial<ModelUsage> = {}): ModelUsage => ({
  ...UNKNOWN_USAGE,
  input_tokens: input,
  output_tokens: output,
  ...change,
});
const pricing = (main: Provider, others: Record<string, Provider> = {}) =>
  pricingOf('main', { providers: { ...others, main } }, day);
const gpt = provider('openai', { model: 'gpt-4o' });
const priced = provider('openai', {
  model: 'gpt-4o',
  price: { input_nano_usd_per_mtok: 150_000_000, output_nano_usd_per_mtok: 600_000_000 },
});

describe('the price of a call', () => {
  test('is that of the contract before that of the table', async () => {
    expect(priceOf(await pricing(priced), usage(1000, 100))).toEqual({ cost_nano_usd: 210_000, basis: 'the contract' });
    const table = priceOf(await pricing(gpt), usage(1000, 100));
    expect(table.cost_nano_usd).toBe(3_500_000);
    expect(table.basis).toMatch(/^@pydantic\/genai-prices \d+\.\d+\.\d+: openai\/gpt-4o on 2026-01-02$/);
  });

  test('is exact where doubles are not, and a part of a nano-dollar is rounded up', async () => {
    const cheap = { ...priced, price: { input_nano_usd_per_mtok: 1, output_nano_usd_per_mtok: 300_000_001 } };
    expect(priceOf(await pricing(cheap), usage(1, 0)).cost_nano_usd).toBe(1);
    expect(priceOf(await pricing(cheap), usage(0, 30_000_000)).cost_nano_usd).toBe(9_000_000_030);
    // 0.1 + 0.2: calcPrice says 0.30000000000000004 of such sums.
    const rates = tableRates({ input_mtok: 0.1, output_mtok: 0.2 });
    expect(priceOf({ rates, basis: '' }, usage(1_000_000, 1_000_000)).cost_nano_usd).toBe(300_000_000);
  });

  test('is unknown, not zero, for unknown tokens, models and addresses', async () => {
    expect(priceOf(await pricing(gpt), usage(null, 5)).cost_nano_usd).toBeNull();
    expect(priceOf(await pricing(gpt), usage(5, null)).cost_nano_usd).toBeNull();
    for (const unknown of [
      provider('openai', { model: 'no-such-model' }),
      provider('openai-compatible', { model: 'gpt-4o', base_url: 'http://127.0.0.1:8089/v1' }),
      provider('openai', { model: 'gpt-4o', base_url: 'http://127.0.0.1:8089/v1' }),
    ]) {
      const found = await pricing(unknown);
      expect(priceOf(found, usage(5, 5))).toMatchObject({
        cost_nano_usd: null,
        basis: expect.stringContaining('unknown'),
      });
      expect(worstCase(found, 5, 5)).toBeNull();
    }
  });

  test('of an endpoint that the table knows is found by its address', async () => {
    const found = await pricing(
      provider('openai-compatible', { model: 'gpt-4o', base_url: 'https://api.openai.com/v1' }),
    );
    expect(priceOf(found, usage(1000, 100)).cost_nano_usd).toBe(3_500_000);
  });

  test('of a recording is that of what it records', async () => {
    const replay: Provider = { ...gpt, kind: 'replay', file: 'r.jsonl', record_from: 'live' };
    expect(priceOf(await pricing(replay, { live: gpt }), usage(1000, 100)).cost_nano_usd).toBe(3_500_000);
    const alone = await pricing({ ...replay, record_from: null });
    expect(alone).toEqual({ rates: null, basis: 'unknown: a recording, and the contract has no price' });
  });

  test('takes cached, written and reasoning tokens at their own rates where the table has them', () => {
    const rates = tableRates({
      input_mtok: 2,
      cache_read_mtok: 0.5,
      cache_write_mtok: 2.5,
      output_mtok: 8,
      output_reasoning_mtok: 3,
      requests_kcount: 5,
    });
    const parts = { cached_input_tokens: 300, cache_write_tokens: 200, reasoning_tokens: 40 };
    const nano = 500 * 2000 + 300 * 500 + 200 * 2500 + 60 * 8000 + 40 * 3000 + 5_000_000;
    expect(priceOf({ rates, basis: '' }, usage(1000, 100, parts)).cost_nano_usd).toBe(nano);
  });

  test('changes for the whole call past a tier, as the table has it', () => {
    const tiered = (base: number, price: number) => ({ base, tiers: [{ start: 200_000, price }] });
    const rates = tableRates({ input_mtok: tiered(1.25, 2.5), output_mtok: tiered(10, 15) });
    expect(priceOf({ rates, basis: '' }, usage(200_000, 10)).cost_nano_usd).toBe(250_100_000);
    expect(priceOf({ rates, basis: '' }, usage(200_001, 10)).cost_nano_usd).toBe(500_152_500);
  });

  test.for(['gpt-4o', 'gpt-5', 'claude-sonnet-4-20250514'])(
    'agrees with the table about %s, to its rounding',
    async (model) => {
      const kind = model.startsWith('gpt') ? 'openai' : 'anthropic';
      const found = await pricing(provider(kind, { model }));
      fc.assert(
        fc.property(fc.nat(2_000_000), fc.nat(100_000), fc.nat(100), (input, output, share) => {
          const cached = Math.floor((input * share) / 100);
          const theirs = calcPrice({ input_tokens: input, output_tokens: output, cache_read_tokens: cached }, model, {
            providerId: kind,
            timestamp: new Date(day),
          });
          const ours = priceOf(found, usage(input, output, { cached_input_tokens: cached })).cost_nano_usd;
          expect(Math.abs((ours ?? 0) - (theirs?.total_price ?? 0) * 1e9)).toBeLessThanOrEqual(1.001);
        }),
      );
    },
  );
});

describe('the worst case of a call', () => {
  test('is never less than its price, however the tokens fall', () => {
    const price = fc.integer({ min: 0, max: 1_000_000 }).map((micro) => micro / 10_000);
    const tiered = fc.record({
      base: price,
      tiers: fc.array(fc.record({ start: fc.nat(500_000), price }), { maxLength: 3 }),
    });
    const entry = fc.record(
      {
        input_mtok: tiered,
        output_mtok: tiered,
        cache_read_mtok: price,
        cache_write_mtok: tiered,
        output_reasoning_mtok: price,
      },
      { requiredKeys: ['input_mtok', 'output_mtok'] },
    );
    fc.assert(
      fc.property(
        entry,
        fc.nat(1_000_000),
        fc.nat(1_000_000),
        fc.nat(100),
        fc.nat(100),
        (prices, input, output, a, b) => {
          const rates = tableRates(prices);
          const cached = Math.floor((input * a) / 100);
          const parts = {
            cached_input_tokens: cached,
            cache_write_tokens: Math.floor(((input - cached) * b) / 100),
            reasoning_tokens: Math.floor((output * b) / 100),
          };
          const found = { rates, basis: '' };
          expect(priceOf(found, usage(input, output, parts)).cost_nano_usd).toBeLessThanOrEqual(
            worstCase(found, input, output) ?? -1,
          );
        },
      ),
    );
  });

  test('of the contract is its rates', async () => {
    expect(worstCase(await pricing(priced), 1000, 100)).toBe(210_000);
  });
});

test('an entry of the table without a price for input or output is none', () => {
  expect(tableRates({ input_mtok: 1 })).toBeNull();
  expect(tableRates({ output_mtok: 1, requests_kcount: 3 })).toBeNull();
});

test('prices are read as they are written, down to the smallest', () => {
  expect(tableRates({ input_mtok: 1e-7, output_mtok: 0.0375 })).toMatchObject({
    input: { base: 100n },
    output: { base: 37_500_000n },
  });
  expect(tableRates({ input_mtok: 1e-10, output_mtok: 1e21 })).toMatchObject({
    input: { base: 1n },
    output: { base: 10n ** 30n },
  });
});
