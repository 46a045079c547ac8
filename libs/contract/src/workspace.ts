import { hash } from 'node:crypto';
import { readdir, readlink, lstat, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { matchesGlob } from 'node:path/posix';
import { canonicalJson } from '#lib/ledger';
import { errnoOf, sha256File } from './files.js';
import type { Contract, WorkspaceFile } from './types.js';

/** Caps of a workspace: 10,000 files and 256 MiB unless said otherwise. */
export type WorkspaceLimits = { maxFiles: number; maxBytes: number };
export const workspaceLimits: WorkspaceLimits = { maxFiles: 10_000, maxBytes: 256 * 1024 * 1024 };

export type WorkspaceErrorCode =
  | 'too_many_files'
  | 'too_large'
  | 'link_leaves'
  | 'special_file'
  | 'bad_name'
  | 'unreadable';

/** A folder that cannot be a workspace. `path` is the entry at fault, relative to the folder. */
export class WorkspaceError extends Error {
  override readonly name = 'WorkspaceError';

  constructor(
    readonly code: WorkspaceErrorCode,
    readonly path: string,
    message: string,
    options?: { cause: unknown },
  ) {
    super(message, options);
  }
}

/**
 * Every file of a folder with its mode, size and SHA-256, sorted by path (UTF-16 code units). Empty folders do not count. Symbolic links
 * are listed as links, not followed.
 * @throws WorkspaceError on a link that is absolute or leaves the folder, on a device, socket or pipe, on a name that is not UTF-8, on
 * more than the limits allow, on what cannot be read
 */
export async function snapshotWorkspace(
  dir: string,
  limits: WorkspaceLimits = workspaceLimits,
): Promise<WorkspaceFile[]> {
  const root = await realpath(dir);
  const files: WorkspaceFile[] = [];
  let total = 0;
  const visit = async (folder: string): Promise<void> => {
    for (const name of await readdir(join(root, folder))) {
      const path = folder === '' ? name : `${folder}/${name}`;
      if (name.includes('\uFFFD'))
        throw new WorkspaceError('bad_name', path, `the name of \`${path}\` is not UTF-8: rename it`);
      const info = await lstat(join(root, path));
      if (info.isDirectory()) {
        await visit(path);
        continue;
      }
      if (files.length === limits.maxFiles) {
        throw new WorkspaceError('too_many_files', path, `it has more than ${limits.maxFiles} files: remove some`);
      }
      total += info.size;
      if (total > limits.maxBytes) {
        throw new WorkspaceError('too_large', path, `it has more than ${limits.maxBytes} bytes: make it smaller`);
      }
      if (info.isSymbolicLink()) files.push(await linkEntry(root, path));
      else if (info.isFile()) {
        const mode = (info.mode & 0o100) === 0 ? '100644' : '100755';
        files.push({ path, mode, bytes: info.size, sha256: await sha256File(join(root, path), info.size) });
      } else
        throw new WorkspaceError('special_file', path, `\`${path}\` is neither a file, a folder nor a link: remove it`);
    }
  };
  try {
    await visit('');
  } catch (cause) {
    if (cause instanceof WorkspaceError) throw cause;
    throw new WorkspaceError(
      'unreadable',
      '',
      `it cannot be read (${errnoOf(cause) ?? String(cause)}): allow this user to`,
      { cause },
    );
  }
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function linkEntry(root: string, path: string): Promise<WorkspaceFile> {
  const target = await readlink(join(root, path));
  const outside = (to: string) => {
    const way = relative(root, to);
    return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way);
  };
  // The second look follows links on the way, which the text of this one does not show.
  const end = await realpath(join(root, path)).catch(() => null);
  if (isAbsolute(target) || outside(join(root, path, '..', target)) || (end !== null && outside(end))) {
    throw new WorkspaceError(
      'link_leaves',
      path,
      `the link \`${path}\` leaves the folder: replace it by what it points to`,
    );
  }
  const sha256 = hash('sha256', target);
  return { path, mode: '120000', bytes: Buffer.byteLength(target), sha256 };
}

/** Hex SHA-256 of the JCS text of [[path, mode, sha256], …] in the order of paths. */
export function workspaceDigest(files: WorkspaceFile[]): string {
  const rows = files.map(({ path, mode, sha256 }) => [path, mode, sha256]);
  return hash('sha256', canonicalJson(rows));
}

/**
 * Whether a path of the workspace (relative, POSIX) is protected: one of the patterns matches it or a folder that it is in. Unlike in a
 * shell, `*` and `**` match names that begin with a dot too, so that nothing that judges a run is left open by its name.
 */
export function isProtected(contract: Contract, path: string): boolean {
  return contract.workspace.protected.some((pattern) =>
    [pattern, `${pattern}/**`].some((glob) => matchesGlob(path, glob) || matchesGlob(undotted(path), undotted(glob))),
  );
}

function undotted(path: string): string {
  return path.replace(/(^|\/)\.(?=[^/])/g, '$1\u0001.');
}
