import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { boolean, durationMs, whole } from './values.js';
import type { SettingsReader } from './reader.js';

/** What requests from other systems may do here. */
export interface RequestSettings {
  readonly audience: string;
  readonly signedOnly: boolean;
  readonly quotas: { readonly open: number; readonly spendNanoUsdPerDay: number | null };
  readonly maxDeadlineMs: number;
}

export interface FileSettings {
  readonly cacheDir: string;
  /** Beginnings of the URLs from which archives may be read. */
  readonly archiveUrls: readonly string[];
}

const HOUR_MS = 3_600_000;

export function requestsOf(reader: SettingsReader): RequestSettings {
  const name = z.string().regex(/^[\x21-\x7e]{1,200}$/);
  return {
    audience: reader.parsed('TRUSS_AUDIENCE', name, '1 to 200 visible ASCII characters') ?? 'truss',
    signedOnly: reader.parsed('TRUSS_SIGNED_ONLY', boolean, 'true or false') ?? false,
    quotas: {
      open: reader.parsed('TRUSS_QUOTA_OPEN', whole(1, 1_000_000), 'a whole number from 1 to 1000000') ?? 100,
      spendNanoUsdPerDay: spendOf(reader),
    },
    maxDeadlineMs:
      reader.parsed('TRUSS_MAX_DEADLINE', durationMs(60_000, 720 * HOUR_MS), '1m to 720h, such as 72h') ?? 72 * HOUR_MS,
  };
}

function spendOf(reader: SettingsReader): number | null {
  if (reader.text('TRUSS_QUOTA_USD_PER_DAY') === 'none') return null;
  const dollars = z
    .string()
    .regex(/^\d{1,6}(\.\d{1,9})?$/)
    .transform((text) => Math.round(Number(text) * 1e9));
  const expected = 'an amount in USD such as 100 or 2.50, or none';
  return reader.parsed('TRUSS_QUOTA_USD_PER_DAY', dollars, expected) ?? 100e9;
}

export function filesOf(reader: SettingsReader): FileSettings {
  const folder = z.url({ protocol: /^(https|file)$/ }).endsWith('/');
  const urls = z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(folder));
  const expected = 'https: or file: URLs that end with /, with commas between them';
  return {
    cacheDir: reader.text('TRUSS_CACHE_DIR') ?? join(tmpdir(), 'truss-cache'),
    archiveUrls: reader.parsed('TRUSS_ARCHIVE_URLS', urls, expected) ?? [],
  };
}
