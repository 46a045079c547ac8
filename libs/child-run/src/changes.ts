import { hash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { chmod, lstat, open, readdir, readlink } from 'node:fs/promises';
import { posix } from 'node:path';
import { z } from 'zod';
import { type Contract, isProtected, type WorkspaceFile } from '#lib/contract';
import type { BodyOf } from '#lib/ledger';
import { RunFault } from './faults.js';
import { leadsOut } from './links.js';
import { type Redact, redactBytes } from './secrets.js';

export type Changes = Omit<BodyOf<'workspace_changed'>, 'content'> & { readonly content: Content };

/** Path -> base64 of a file's bytes; a link is `link:` and the base64 of where it points. */
export type Content = Readonly<Record<string, string>>;
const LINK = 'link:';
const contentSchema = z.record(z.string(), z.string());

export interface ChangeLimits {
  /** Files that differ. */
  readonly maxFiles: number;
  /** Bytes in files that differ. */
  readonly maxBytes: number;
}
export const changeLimits: ChangeLimits = { maxFiles: 10_000, maxBytes: 64 * 1024 * 1024 };

export function contentText(content: Content): string {
  return JSON.stringify(content);
}

export type Recorded =
  | { readonly kind: 'file'; readonly bytes: Buffer }
  | { readonly kind: 'link'; readonly target: string };

export function readContent(text: string): Content {
  return contentSchema.parse(JSON.parse(text === '' ? '{}' : text));
}

export function recordedAt(content: Content, path: string): Recorded | null {
  const value = Object.hasOwn(content, path) ? content[path] : undefined;
  if (value === undefined) return null;
  if (!value.startsWith(LINK)) return { kind: 'file', bytes: Buffer.from(value, 'base64') };
  return { kind: 'link', target: Buffer.from(value.slice(LINK.length), 'base64').toString('utf8') };
}

/** What one new file in an empty workspace changes. */
export function oneFile(contract: Contract, path: string, text: string): Changes {
  const bytes = Buffer.from(text, 'utf8');
  const name = posix.normalize(path);
  if (isProtected(contract, name)) return { files: [], protected: [{ path: name, change: 'added' }], content: {} };
  return {
    files: [
      { path: name, change: 'added', size: bytes.length, sha256: hash('sha256', bytes) as FileHash, executable: false },
    ],
    protected: [],
    content: { [name]: bytes.toString('base64') },
  };
}

type FileHash = NonNullable<BodyOf<'workspace_changed'>['files'][number]['sha256']>;
type Found =
  | { readonly mode: WorkspaceFile['mode']; readonly size: number; readonly sha256: string; readonly value: string }
  | 'foreign';

/**
 * How a folder that an agent worked in differs from the files it began with. Links are recorded, never followed; what no other
 * machine could be given (a link that leads out of the folder, alone or by way of others, a device, socket or pipe, a name that is not UTF-8) is recorded with `sha256` null
 * and without content, so it is not there for the criteria. Empty folders do not count. The folder itself may be gone.
 * A key's value in a file is redacted there: what is recorded is what is judged.
 * @throws RunFault `workspace_flooded` beyond the limits
 */
export async function changesIn(
  contract: Contract,
  folder: string,
  pristine: readonly WorkspaceFile[],
  limits: ChangeLimits,
  redact: Redact,
): Promise<Changes> {
  const before = new Map(pristine.map((file) => [file.path, file]));
  const after = await scan(folder, before, limits, redact);
  const content: Record<string, string> = Object.create(null) as Record<string, string>;
  const files: BodyOf<'workspace_changed'>['files'] = [];
  const guarded: BodyOf<'workspace_changed'>['protected'] = [];
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  for (const path of paths) {
    const old = before.get(path);
    const found = after.get(path);
    if (found === 'same') continue;
    const change = old === undefined ? 'added' : found === undefined ? 'deleted' : 'modified';
    if (isProtected(contract, path)) guarded.push({ path, change });
    else if (found === undefined || found === 'foreign')
      files.push({ path, change, size: 0, sha256: null, executable: false });
    else {
      content[path] = found.value;
      files.push({
        path,
        change,
        size: found.size,
        sha256: found.sha256 as FileHash,
        executable: found.mode === '100755',
      });
    }
  }
  return { files, protected: guarded, content: { ...content } };
}

async function scan(
  folder: string,
  before: ReadonlyMap<string, WorkspaceFile>,
  limits: ChangeLimits,
  redact: Redact,
): Promise<Map<string, Found | 'same'>> {
  const found = new Map<string, Found | 'same'>();
  const links = new Map<string, string>();
  let visited = 0;
  let bytes = 0;
  const flooded = (): RunFault =>
    new RunFault(
      'workspace',
      'workspace_flooded',
      `the agent changed more than ${limits.maxFiles} files or ${limits.maxBytes} bytes of the workspace: it should keep what is no answer in TMPDIR`,
    );
  const look = async (path: string, full: Buffer, info: Stats): Promise<Found | 'same'> => {
    const old = before.get(path);
    if (info.isSymbolicLink()) {
      const link = await lookAtLink(full, old, redact);
      // What cannot be read leads who knows where.
      links.set(path, link.target ?? '/');
      return link.found;
    }
    if (!info.isFile()) return 'foreign';
    const room = limits.maxBytes - bytes;
    if (info.size > room && info.size !== old?.bytes) throw flooded();
    if ((info.mode & 0o400) === 0) await chmod(full, 0o600 | (info.mode & 0o100));
    const raw = await readRegular(full);
    if (raw === null) return 'foreign';
    const data = redactBytes(raw, redact);
    const mode = (info.mode & 0o100) === 0 ? '100644' : '100755';
    const sha256 = hash('sha256', data);
    if (old?.mode === mode && old.sha256 === sha256) return 'same';
    bytes += data.length;
    if (bytes > limits.maxBytes) throw flooded();
    return { mode, size: data.length, sha256, value: data.toString('base64') };
  };
  const visit = async (at: string, full: Buffer): Promise<void> => {
    const info = await lstat(full);
    if ((info.mode & 0o700) !== 0o700) await chmod(full, 0o700);
    for (const raw of await readdir(full, { encoding: 'buffer' })) {
      visited += 1;
      if (visited > 2 * (before.size + limits.maxFiles)) throw flooded();
      const name = raw.toString('utf8');
      const path = at === '' ? name : `${at}/${name}`;
      const child = Buffer.concat([full, Buffer.from('/'), raw]);
      const entry = await lstat(child);
      if (!raw.equals(Buffer.from(name, 'utf8'))) found.set(path, 'foreign');
      else if (entry.isDirectory()) await visit(path, child);
      else found.set(path, await look(path, child, entry));
      if (found.size > before.size + limits.maxFiles) throw flooded();
    }
  };
  const top = await lstat(folder).catch(() => null);
  if (top?.isDirectory()) await visit('', Buffer.from(folder));
  for (const path of links.keys()) if (leadsOut(path, links)) found.set(path, 'foreign');
  return found;
}

async function lookAtLink(
  full: Buffer,
  old: WorkspaceFile | undefined,
  redact: Redact,
): Promise<{ readonly target: string | null; readonly found: Found | 'same' }> {
  const raw = redactBytes(await readlink(full, { encoding: 'buffer' }), redact);
  const target = raw.toString('utf8');
  if (!raw.equals(Buffer.from(target, 'utf8'))) return { target: null, found: 'foreign' };
  const sha256 = hash('sha256', target);
  if (old?.mode === '120000' && old.sha256 === sha256) return { target, found: 'same' };
  return { target, found: { mode: '120000', size: raw.length, sha256, value: `${LINK}${raw.toString('base64')}` } };
}

// No link is followed and no pipe is waited for, whatever the name stands for by now.
async function readRegular(full: Buffer): Promise<Buffer | null> {
  const file = await open(full, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return (await file.stat()).isFile() ? await file.readFile() : null;
  } finally {
    await file.close();
  }
}
