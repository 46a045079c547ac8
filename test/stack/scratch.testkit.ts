import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for the data of one server. */
export function scratchFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `truss-${name}-`));
}

/** A password made for one test. */
export function makePassword(): string {
  return randomBytes(18).toString('base64url');
}

/** What all names of a test on a shared stack begin with. */
export function scratchPrefix(): string {
  return `t-${randomBytes(4).toString('hex')}.`;
}
