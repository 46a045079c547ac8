import { ArchiveError } from './errors.js';

const MIB = 1024 * 1024;

/** Caps of an archive: what comes from elsewhere is stopped at the first one that it meets. Bytes, unless said otherwise. */
export interface ArchiveLimits {
  /** Of the tar.gz. */
  readonly packed: number;
  /** Of all that comes out of it, headers included. */
  readonly unpacked: number;
  /** How many times its own size an archive may grow to, once it is past `unquestioned`. */
  readonly ratio: number;
  readonly unquestioned: number;
  /** Files, folders and links together. */
  readonly entries: number;
  readonly path: number;
  readonly name: number;
}

/** Room for the largest workspace that a contract may have, and programs beside it. */
export const archiveLimits: ArchiveLimits = {
  packed: 64 * MIB,
  unpacked: 320 * MIB,
  ratio: 200,
  unquestioned: 16 * MIB,
  entries: 20_000,
  path: 1024,
  name: 255,
};

/** Where a path of an archive leads. @throws ArchiveError `archive_unsafe` unless it is relative, normal and of ordinary names */
export function safePath(path: string, limits: ArchiveLimits): string {
  const shown = JSON.stringify(path.slice(0, 100));
  const unsafe = (why: string) =>
    new ArchiveError('archive_unsafe', `the archive holds ${shown}, ${why}: pack it again`);
  if (Buffer.byteLength(path) > limits.path) throw unsafe(`a path of more than ${limits.path} bytes`);
  if (path.includes('\0')) throw unsafe('a path with a NUL');
  if (path.startsWith('/')) throw unsafe('an absolute path');
  // Of bytes that are no UTF-8, and then of no name that a workspace may have.
  if (path.includes('\uFFFD')) throw unsafe('a path that is not UTF-8');
  for (const name of path.split('/')) {
    if (name === '..') throw unsafe('a path that leaves it');
    if (name === '' || name === '.') throw unsafe('a path that is not in its plainest form');
    if (Buffer.byteLength(name) > limits.name) throw unsafe(`a name of more than ${limits.name} bytes`);
  }
  return path;
}

/**
 * Whether a link stays in the archive whatever the links do that it leads through: `..` only at its beginning, and no more of them than
 * folders it stands in. (No entry of an archive stands in a link.)
 */
export function staysInside(path: string, target: string): boolean {
  if (target === '' || target.includes('\0') || target.startsWith('/')) return false;
  const names = target.split('/').filter((name) => name !== '' && name !== '.');
  const up = names.findIndex((name) => name !== '..');
  const ups = up === -1 ? names.length : up;
  return ups < path.split('/').length && !names.slice(ups).includes('..');
}
