import { delimiter, dirname } from 'node:path';
import type { Place } from './scratch.js';

const PASSED_ON = /^(?:LANG|LC_[A-Z]+|TZ)$/;

/**
 * The whole environment of a program: an allow-list, so that no key or token of whoever runs Truss reaches it. `node` is the
 * Node that runs Truss.
 */
export function environmentOf(place: Place, extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env))
    if (PASSED_ON.test(name) && value !== undefined) env[name] = value;
  const path = [dirname(process.execPath), process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'].join(delimiter);
  return { ...env, PATH: path, HOME: place.home, TMPDIR: place.tmp, ...extra };
}
