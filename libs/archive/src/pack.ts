import { createHash } from 'node:crypto';
import { readFile, readlink, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'smol-toml';
import { type Header, pack } from 'tar-stream';
import { loadContract, type LoadedContract, snapshotWorkspace } from '#lib/contract';

/** A contract as it travels: its text, and its files as a tar.gz; `null` where it needs none. */
export interface PackedContract extends LoadedContract {
  readonly toml: string;
  readonly archive: { readonly sha256: string; readonly bytes: Uint8Array } | null;
}

type Entry = Pick<Header, 'name' | 'type' | 'mode'> & { readonly linkname?: string; readonly from?: string };

/**
 * Loads a contract and packs what its digest pins, and its cases: its workspace, its programs and recordings. The same files make the same bytes.
 * @throws ContractError, WorkspaceError
 */
export async function packContract(file: string): Promise<PackedContract> {
  const loaded = await loadContract(file);
  const toml = await readFile(file, 'utf8');
  const entries = await entriesOf(loaded, toml);
  if (entries.length === 0) return { ...loaded, toml, archive: null };
  const bytes = await packed(entries);
  return { ...loaded, toml, archive: { sha256: createHash('sha256').update(bytes).digest('hex'), bytes } };
}

async function entriesOf({ contract, directory, workspaceDir }: LoadedContract, toml: string): Promise<Entry[]> {
  const written = parse(toml);
  const entries = new Map<string, Entry>();
  const add = (entry: Entry): void => void entries.set(entry.name, entry);
  const workspace = (written['workspace'] as { path?: string } | undefined)?.path;
  if (workspaceDir !== null && workspace !== undefined) {
    const root = posix.normalize(workspace).replace(/\/$/, '');
    add({ name: root, type: 'directory', mode: 0o755 });
    for (const { path, mode } of await snapshotWorkspace(workspaceDir)) {
      const [name, from] = [`${root}/${path}`, join(workspaceDir, path)];
      if (mode === '120000') add({ name, type: 'symlink', mode: 0o777, linkname: await readlink(from) });
      else add({ name, type: 'file', mode: mode === '100755' ? 0o755 : 0o644, from });
    }
  }
  const beside = [...contract.programs.map(({ path }) => path), ...casesFile(written)];
  for (const path of beside) {
    const from = join(directory, path);
    // Whether it is a program is no part of the digest, and without it the command would not start.
    const { mode } = await stat(from);
    add({ name: path, type: 'file', mode: (mode & 0o100) === 0 ? 0o644 : 0o755, from });
  }
  return [...entries.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function casesFile(written: Record<string, unknown>): string[] {
  const file = written['cases_file'];
  return typeof file === 'string' ? [posix.normalize(file)] : [];
}

async function packed(entries: readonly Entry[]): Promise<Uint8Array> {
  const tar = pack();
  const chunks: Buffer[] = [];
  const read = (async () => {
    for await (const chunk of tar as AsyncIterable<Buffer>) chunks.push(chunk);
  })();
  for (const { from, ...header } of entries) {
    const content = from === undefined ? undefined : await readFile(from);
    const whole = { ...header, mtime: new Date(0), uid: 0, gid: 0, uname: '', gname: '' };
    await new Promise<void>((resolve, reject) => {
      const done = (error?: Error | null): void => (error ? reject(error) : resolve());
      tar.entry(whole, content ?? '', done);
    });
  }
  tar.finalize();
  await read;
  const bytes = gzipSync(Buffer.concat(chunks), { level: 9 });
  // The system that packed it, which zlib writes and nobody needs.
  bytes[9] = 255;
  return new Uint8Array(bytes);
}
