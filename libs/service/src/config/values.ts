import { z } from 'zod';

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** `500ms`, `10s`, `2m` as milliseconds within the range. */
export function durationMs(least: number, most: number) {
  return z
    .string()
    .regex(/^\d{1,9}(ms|s|m|h)$/)
    .transform((text) => {
      const unit = /[a-z]+$/.exec(text)?.[0] as keyof typeof UNITS;
      return Number.parseInt(text, 10) * UNITS[unit];
    })
    .refine((ms) => ms >= least && ms <= most);
}

export const boolean = z.stringbool({ truthy: ['true'], falsy: ['false'] });

export function whole(least: number, most: number) {
  return z
    .string()
    .regex(/^\d{1,7}$/)
    .transform(Number)
    .refine((value) => value >= least && value <= most);
}
