import { z } from 'zod';
import type { AgentEvent } from '#lib/ledger';

export const MAX_LINE_BYTES = 64 * 1024;
const NANO_PER_USD = 1_000_000_000n;
/** Of one event; far beyond what any model can be paid, far below what a sum of many could not hold. */
const MAX_TOKENS = 2 ** 40;
const MAX_COST_USD = 1_000_000;

const tokens = z.int().min(0).max(MAX_TOKENS).nullish();
const text = z.string();
const lineSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('step'), name: text.default('') }),
  z.object({
    type: z.literal('usage'),
    input_tokens: tokens,
    output_tokens: tokens,
    cost_usd: z.number().min(0).max(MAX_COST_USD).nullish(),
  }),
  z.object({ type: z.literal('note'), text }),
  z.object({ type: z.literal('lesson'), title: text, when: text, when_not: text.default(''), text }),
  z.object({ type: z.literal('cited'), lesson: text }),
]);

/**
 * One line of the file that `TRUSS_EVENTS` names. Unknown keys are ignored; what is no event, or claims a usage that cannot be, is
 * kept as `garbage`; an empty line is `null`. A usage without a number leaves it unknown, and counts as one unmeasured
 * call, or where only the cost is not there as one unpriced call.
 */
export function parseEvent(line: string): AgentEvent | null {
  const written = line.trim().toWellFormed();
  if (written === '') return null;
  const parsed = lineSchema.safeParse(jsonOf(written));
  if (!parsed.success || hasLoneSurrogate(parsed.data)) return { type: 'garbage', text: written };
  if (parsed.data.type !== 'usage') return parsed.data;
  const { input_tokens = null, output_tokens = null, cost_usd = null } = parsed.data;
  const isCounted = input_tokens !== null && output_tokens !== null;
  return {
    type: 'usage',
    usage: {
      cost_nano_usd: cost_usd === null ? null : nanoUsd(cost_usd),
      steps: 0,
      input_tokens,
      output_tokens,
      unmeasured_calls: isCounted ? 0 : 1,
      ...(isCounted && cost_usd === null ? { unpriced_calls: 1 } : {}),
    },
  };
}

/** Decimal USD as whole nano-dollars, by the decimal text of the number and to the nearest: no sum of floats. */
export function nanoUsd(usd: number): number {
  const [whole = '0', fraction = ''] = usd.toFixed(9).split('.');
  return Number(BigInt(whole) * NANO_PER_USD + BigInt(fraction));
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

// "\ud800" is JSON, and no text of a ledger.
function hasLoneSurrogate(event: object): boolean {
  return Object.values(event).some((value) => typeof value === 'string' && !value.isWellFormed());
}
