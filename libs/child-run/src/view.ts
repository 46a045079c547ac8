import { hash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { isProtected, type WorkspaceFile } from '#lib/contract';
import type { ChildState } from '#lib/evaluation';
import { type BodyOf, canonicalJson, type Draft } from '#lib/ledger';
import { toBlob } from './blob.js';
import { type Changes, type Content, contentText, recordedAt } from './changes.js';
import { RunFault } from './faults.js';
import { changedContent, pristineWorkspace } from './workspace.js';
import type { Work } from './work.js';

type ChangedFile = BodyOf<'workspace_changed'>['files'][number];

/**
 * The workspace as the ledger records it: the contract's files and what was changed. No folder is made for it, and no path of it is resolved by the
 * system, so no link leads anywhere.
 */
export interface WorkspaceView {
  /** By path, in order. A link is not followed. */
  readonly entries: ReadonlyMap<string, { readonly kind: 'file' | 'link'; readonly bytes: number }>;
  /** Of a file in `entries`. */
  read(path: string): Promise<Buffer>;
  /** What the workspace's record is with one file written. */
  withFile(path: string, bytes: Buffer): Changes;
}

/** @throws RunFault as `pristineWorkspace` and `changedContent` do */
export async function viewWorkspace(work: Work, state: ChildState): Promise<WorkspaceView> {
  const pristine = await pristineWorkspace(work);
  const before = new Map((pristine?.files ?? []).map((file) => [file.path, file]));
  const changed = state.workspace?.body ?? null;
  const content: Content = changed === null || changed.files.length === 0 ? {} : await changedContent(work, changed);
  const entries = new Map<string, { kind: 'file' | 'link'; bytes: number }>();
  for (const { path, mode, bytes } of before.values())
    entries.set(path, { kind: mode === '120000' ? 'link' : 'file', bytes });
  for (const { path, size } of changed?.files ?? []) {
    const recorded = recordedAt(content, path);
    if (recorded === null) entries.delete(path);
    else entries.set(path, { kind: recorded.kind, bytes: size });
  }
  return {
    entries: new Map([...entries].sort(([a], [b]) => (a < b ? -1 : 1))),
    async read(path) {
      const recorded = recordedAt(content, path);
      if (recorded?.kind === 'file') return recorded.bytes;
      const file = before.get(path);
      if (pristine === null || file === undefined) throw new Error(`${path} is no file of the workspace`);
      return readPristine(pristine.folder, file);
    },
    withFile(path, bytes) {
      const old = before.get(path);
      const change = old === undefined ? 'added' : 'modified';
      const others = (changed?.files ?? []).filter((file) => file.path !== path);
      if (isProtected(work.run.contract, path))
        return { files: changed?.files ?? [], protected: [{ path, change }], content };
      const { [path]: _, ...rest } = content;
      const executable = changed?.files.find((file) => file.path === path)?.executable ?? old?.mode === '100755';
      const sha256 = hash('sha256', bytes) as NonNullable<ChangedFile['sha256']>;
      if (old?.sha256 === sha256 && old.mode === (executable ? '100755' : '100644'))
        return { files: others, protected: [], content: rest };
      const file: ChangedFile = { path, change, size: bytes.length, sha256, executable };
      const files = [...others, file].sort((a, b) => (a.path < b.path ? -1 : 1));
      return { files, protected: [], content: { ...rest, [path]: bytes.toString('base64') } };
    },
  };
}

/** `workspace_changed`, where something changed since the last one. What was done to protected files stays on record when it was undone. */
export async function changesDraft(work: Work, state: ChildState, { content, ...now }: Changes): Promise<Draft[]> {
  const { files, protected: guarded } = state.workspace?.body ?? { files: [], protected: [] };
  const undone = guarded.filter(({ path }) => !now.protected.some((change) => change.path === path));
  const next = { ...now, protected: [...undone, ...now.protected].sort((a, b) => (a.path < b.path ? -1 : 1)) };
  if (canonicalJson([next.files, next.protected]) === canonicalJson([files, guarded])) return [];
  return [{ type: 'workspace_changed', body: { ...next, content: await toBlob(contentText(content), work) } }];
}

async function readPristine(folder: string, { path, sha256 }: WorkspaceFile): Promise<Buffer> {
  const file = await open(join(folder, path), constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const bytes = await file.readFile();
    if (hash('sha256', bytes) === sha256) return bytes;
  } finally {
    await file.close();
  }
  throw new RunFault(
    'workspace',
    'workspace_mismatch',
    'the workspace changes while it is read: leave its files alone',
  );
}
