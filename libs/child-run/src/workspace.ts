import { chmod, cp, mkdir, readlink, rm, rmdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { snapshotWorkspace, type WorkspaceFile, workspaceDigest } from '#lib/contract';
import type { BodyOf } from '#lib/ledger';
import { readBlob } from './blob.js';
import { type Content, readContent, recordedAt } from './changes.js';
import { faultOf, RunFault } from './faults.js';
import { type Links, linksToMake } from './links.js';
import type { Work } from './work.js';

/**
 * The contract's workspace on this machine, verified against its digest; `null` where the contract has an empty one.
 * @throws RunFault `contract_not_here`, `workspace_mismatch`
 */
export async function pristineWorkspace(work: Work): Promise<{ folder: string; files: WorkspaceFile[] } | null> {
  const folder = sourceOf(work);
  return folder === null ? null : { folder, files: await verified(work, folder) };
}

/**
 * Fills an empty folder with the contract's workspace and gives its files. What was copied is verified, not what was there to copy.
 * @throws RunFault `contract_not_here`, `workspace_mismatch`
 */
export async function copyWorkspace(work: Work, into: string): Promise<WorkspaceFile[]> {
  const source = sourceOf(work);
  if (source === null) return [];
  try {
    await cp(source, into, { recursive: true, verbatimSymlinks: true });
  } catch (cause) {
    throw faultOf(cause, 'workspace');
  }
  return verified(work, into);
}

function sourceOf(work: Work): string | null {
  if (work.run.contract.workspace.digest === null) return null;
  const folder = work.ports.workspaceDirectory(work.run.contractDigest);
  if (folder === null)
    throw new RunFault(
      'workspace',
      'contract_not_here',
      `the workspace of the contract is not on this machine: ${work.ports.contractProblem?.(work.run.contractDigest) ?? 'run it where it is'}`,
    );
  return folder;
}

async function verified(work: Work, folder: string): Promise<WorkspaceFile[]> {
  let files: WorkspaceFile[] | null = null;
  try {
    files = await snapshotWorkspace(folder);
  } catch (cause) {
    throw mismatch(cause);
  }
  if (workspaceDigest(files) !== work.run.contract.workspace.digest) throw mismatch(null);
  return files;
}

function mismatch(cause: unknown): RunFault {
  const message = 'the workspace is not the one that the contract pins: put its files back, or start a new evaluation';
  return new RunFault('workspace', 'workspace_mismatch', message, { cause });
}

/**
 * Fills an empty folder with what the agent left, as the ledger records it: the contract's workspace and the changes to files that
 * are not protected. So the criteria see the same files on any machine, and none sees what another one wrote.
 * @throws RunFault `content_missing` where the changes were erased
 */
export async function rebuildWorkspace(
  work: Work,
  changed: BodyOf<'workspace_changed'> | null,
  into: string,
): Promise<void> {
  const pristine = await copyWorkspace(work, into);
  if (changed === null || changed.files.length === 0) return;
  const content = await changedContent(work, changed);
  const present = changed.files.filter(({ path }) => isBelow(path));
  for (const { path, change } of present) if (change !== 'added') await removeFile(into, path);
  const links = new Map<string, string>();
  for (const { path, executable } of present) {
    const recorded = recordedAt(content, path);
    if (recorded === null) continue;
    if (recorded.kind === 'link') links.set(path, recorded.target);
    else {
      await clearWay(into, path);
      await writeFile(join(into, path), recorded.bytes, { flag: 'wx' });
      await chmod(join(into, path), executable ? 0o755 : 0o644);
    }
  }
  // Last, so that nothing is written through one.
  for (const [path, target] of linksToMake(await linksOf(pristine, into), links)) {
    await clearWay(into, path);
    await symlink(target, join(into, path));
  }
}

/** The contract's links that are still there. */
async function linksOf(pristine: readonly WorkspaceFile[], into: string): Promise<Links> {
  const links = new Map<string, string>();
  for (const { path, mode } of pristine) {
    if (mode !== '120000') continue;
    const target = await readlink(join(into, path)).catch(() => null);
    if (target !== null) links.set(path, target);
  }
  return links;
}

export async function changedContent(work: Work, changed: BodyOf<'workspace_changed'>): Promise<Content> {
  const text = await readBlob(changed.content, work.ports);
  if (text === null)
    throw new RunFault('workspace', 'content_missing', 'the files of the answer are not at hand: they were erased');
  return readContent(text);
}

function isBelow(path: string): boolean {
  return (
    posix.normalize(path) === path && path !== '.' && path !== '..' && !path.startsWith('../') && !path.startsWith('/')
  );
}

async function clearWay(into: string, path: string): Promise<void> {
  await mkdir(dirname(join(into, path)), { recursive: true });
  await rm(join(into, path), { recursive: true, force: true });
}

// With the folders that it leaves empty: an empty folder is no part of a workspace.
async function removeFile(into: string, path: string): Promise<void> {
  await rm(join(into, path), { force: true });
  for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder)) {
    try {
      await rmdir(join(into, folder));
    } catch {
      return;
    }
  }
}
