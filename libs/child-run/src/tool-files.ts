import { posix } from 'node:path';
import { isProtected } from '#lib/contract';
import type { ChildState } from '#lib/evaluation';
import type { Changes } from './changes.js';
import type { ToolArguments } from './tool-shapes.js';
import { viewWorkspace, type WorkspaceView } from './view.js';
import type { Work } from './work.js';

/** What a tool tells the model, and what it changed. */
export interface ToolResult {
  readonly ok: boolean;
  readonly text: string;
  readonly changes?: Changes;
}
export const refuse = (text: string): ToolResult => ({ ok: false, text: `error: ${text}` });

const MAX_TEXT = 32 * 1024;
const MAX_LISTED = 1_000;
const MAX_PATH = 1_000;
const MAX_NAME = 200;

/** A path of the workspace, or why it is none. It is only ever looked up among the recorded paths. */
function insideOf(path: string): { path: string } | { fault: string } {
  const clean = posix.normalize(path.replace(/\/+$/u, ''));
  const outside = posix.isAbsolute(path) || clean === '..' || clean.startsWith('../');
  if (outside) return { fault: 'the path leads out of the workspace: give one relative to it' };
  const names = clean.split('/');
  const isName = (name: string) => name !== '' && Buffer.byteLength(name) <= MAX_NAME;
  if (path === '' || path.includes('\0') || path.length > MAX_PATH || !names.every(isName))
    return { fault: 'the path is empty, too long, or no path' };
  return { path: clean };
}

export async function listFiles(
  work: Work,
  { folder }: ToolArguments<'list_files'>,
  state: ChildState,
): Promise<ToolResult> {
  const inside = insideOf(folder === undefined || folder === '' ? '.' : folder);
  if ('fault' in inside) return refuse(inside.fault);
  const { entries } = await viewWorkspace(work, state);
  const below = inside.path === '.' ? '' : `${inside.path}/`;
  const found = [...entries].filter(([path]) => path.startsWith(below));
  if (found.length === 0) return below === '' ? { ok: true, text: 'no files' } : refuse('there is no such folder');
  const lines = found
    .slice(0, MAX_LISTED)
    .map(([path, { kind, bytes }]) => `${path} (${kind === 'link' ? 'link' : `${bytes} bytes`})`);
  const rest = found.length - lines.length;
  return { ok: true, text: [...lines, ...(rest > 0 ? [`[${rest} more]`] : [])].join('\n') };
}

export async function readTextFile(
  work: Work,
  { path, from_line: from = 1 }: ToolArguments<'read_file'>,
  state: ChildState,
): Promise<ToolResult> {
  const inside = insideOf(path);
  if ('fault' in inside) return refuse(inside.fault);
  const view = await viewWorkspace(work, state);
  const found = view.entries.get(inside.path);
  if (found === undefined) return refuse(isFolder(view, inside.path) ? 'it is a folder' : 'there is no such file');
  if (found.kind === 'link') return refuse('it is a link, which is not followed');
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(await view.read(inside.path));
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    return refuse('it is not UTF-8 text');
  }
  const lines = text.split('\n');
  if (from > lines.length) return refuse(`it has ${lines.length} lines`);
  return { ok: true, text: capped(lines.slice(from - 1).join('\n')) };
}

export async function writeTextFile(
  work: Work,
  { path, text }: ToolArguments<'write_file'>,
  state: ChildState,
): Promise<ToolResult> {
  const inside = insideOf(path);
  if ('fault' in inside) return refuse(inside.fault);
  const at = inside.path;
  if (isProtected(work.run.contract, at)) return refuse('the file is protected: it would be put back before the check');
  const view = await viewWorkspace(work, state);
  const fault = placeFault(view, at);
  if (fault !== null) return refuse(fault);
  const bytes = Buffer.from(text, 'utf8');
  const changes = view.withFile(at, bytes);
  const size = changes.files.reduce((sum, file) => sum + file.size, 0);
  const { maxBytes, maxFiles } = work.limits.changes;
  if (size > maxBytes || changes.files.length > maxFiles) return refuse('the workspace has no room for it');
  return { ok: true, text: `${bytes.length} bytes written`, changes };
}

/** Why no file can be at a path, or `null`. */
export function placeFault(view: WorkspaceView, at: string): string | null {
  if (at === '.' || isFolder(view, at)) return 'it is a folder';
  if (view.entries.get(at)?.kind === 'link') return 'it is a link, which is not written through';
  for (let folder = posix.dirname(at); folder !== '.'; folder = posix.dirname(folder)) {
    const there = view.entries.get(folder);
    if (there !== undefined) return `${folder} is a ${there.kind}, no folder`;
  }
  return null;
}

function isFolder({ entries }: WorkspaceView, path: string): boolean {
  for (const other of entries.keys()) if (other.startsWith(`${path}/`)) return true;
  return false;
}

/** The first 32 KiB. */
export function capped(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  const shown = text.slice(0, MAX_TEXT);
  const lines = shown.split('\n').length - 1;
  return `${shown.toWellFormed()}\n[cut after ${lines} lines; ${text.length - MAX_TEXT} more characters]`;
}
