import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, posix, relative, sep } from 'node:path';
import { ContractError } from './errors.js';

/** The whole text of a regular file in UTF-8. @throws ContractError `unreadable`, `too_large`, without a position */
export async function readText(path: string, shown: string, maxBytes: number): Promise<string> {
  const fail = (why: string, advice: string, cause?: unknown) =>
    new ContractError('unreadable', shown, null, null, `cannot read ${shown}: ${why}; ${advice}`, { cause });
  let bytes: Buffer;
  try {
    const info = await stat(path);
    if (!info.isFile()) throw fail(info.isDirectory() ? 'it is a folder' : 'it is not a regular file', 'give a file');
    if (info.size > maxBytes) {
      const message = `${shown} is too large: it has ${info.size} bytes; at most ${maxBytes} are read`;
      throw new ContractError('too_large', shown, null, null, message);
    }
    bytes = await readFile(path);
  } catch (cause) {
    if (cause instanceof ContractError) throw cause;
    const code = errnoOf(cause);
    if (code === 'ENOENT' || code === 'ENOTDIR') throw fail('there is no such file', 'check the path', cause);
    if (code === 'EACCES' || code === 'EPERM') throw fail('permission denied', 'allow this user to read it', cause);
    throw fail(code ?? 'unknown error', 'check the file', cause);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw fail('it is not UTF-8 text', 'save it as UTF-8', cause);
  }
}

export function errnoOf(cause: unknown): string | undefined {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}

export async function sha256File(path: string, bytes: number): Promise<string> {
  if (bytes <= 1024 * 1024) return hash('sha256', await readFile(path));
  const sum = createHash('sha256');
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) sum.update(chunk);
  return sum.digest('hex');
}

/** Whether a path as written is relative and stays below the folder that it is relative to (or is that folder). */
export function staysInside(path: string): boolean {
  const normal = posix.normalize(path);
  return !isAbsolute(path) && !path.includes('\0') && normal !== '..' && !normal.startsWith('../');
}

/** The real path of `path` in `directory`; `null` when there is none or it leads out of the directory. */
export async function realPathInside(directory: string, path: string): Promise<string | 'absent' | 'outside'> {
  if (!staysInside(path)) return 'outside';
  try {
    const [root, target] = await Promise.all([realpath(directory), realpath(join(directory, path))]);
    const way = relative(root, target);
    return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way) ? 'outside' : target;
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP'].includes(errnoOf(cause) ?? '')) return 'absent';
    throw cause;
  }
}
