import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { loadContract, type LoadedContract } from '#lib/contract';
import { archivedFilesSchema, type ArchivedFiles } from '#lib/evaluation';
import { type JsonValue, sha256Hex, utf8 } from '#lib/ledger';
import type { ContractFiles, ContractLocator } from '#lib/runtime';
import { CONTRACT_FILE, unpackContract } from './contract.js';
import { ArchiveError } from './errors.js';
import { type ArchiveSources, fetchArchive } from './fetch.js';

export interface ContractStoreOptions {
  /** Of this machine; several processes may share it. */
  readonly cacheDir: string;
  readonly sources: ArchiveSources;
  /** Told why files could not be had: the run says so too. */
  readonly failed?: (digest: string, error: unknown) => void;
  /** After so long the files are looked at again: something may have cleared up. Absent: 60 s. */
  readonly recheckMs?: number;
  /** How long a failure is remembered, so that a thousand runs do not ask a thousand times. Absent: 10 s. */
  readonly rememberMs?: number;
}

/** Brings the files of contracts to this machine: each once, checked against the digest that the signed plan names, in a folder by that digest. */
export function createContractStore(options: ContractStoreOptions): ContractLocator {
  const { cacheDir, sources, failed, rememberMs = 10_000, recheckMs = 60_000 } = options;
  const here = new Map<string, ContractFiles & { readonly checkedAt: number }>();
  const reasons = new Map<string, string>();
  /** When what a hint says was of no use. Another hint of the same contract may be. */
  const failures = new Map<string, number>();
  const coming = new Map<string, { readonly asked: string; readonly work: Promise<void> }>();

  async function bring(digest: string, hints: JsonValue, asked: string): Promise<void> {
    try {
      const { directory, workspaceDir } = await filesOf(digest, hints);
      here.set(digest, { directory, workspace: workspaceDir, checkedAt: performance.now() });
      reasons.delete(digest);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      here.delete(digest);
      reasons.set(digest, error instanceof ArchiveError ? why : `its files do not load here (${why})`);
      const now = performance.now();
      for (const [old, at] of failures) if (now - at >= rememberMs) failures.delete(old);
      failures.set(asked, now);
      failed?.(digest, error);
    }
  }

  async function filesOf(digest: string, hints: JsonValue): Promise<LoadedContract> {
    const folder = join(cacheDir, digest);
    await mkdir(cacheDir, { recursive: true, mode: 0o700 });
    await assertOurs(cacheDir);
    const known = await loadedFrom(folder, digest);
    if (known !== null) return known;
    const parsed = z.array(archivedFilesSchema).safeParse(hints);
    if (!parsed.success) {
      throw new ArchiveError('archive_unavailable', 'nothing says where its files may be had');
    }
    let last: unknown = null;
    for (const files of parsed.data) {
      const fresh = await mkdtemp(join(cacheDir, '.new-'));
      try {
        await unpackHinted(files, digest, join(fresh, 'files'));
        return await putInPlace(join(fresh, 'files'), folder, digest);
      } catch (error) {
        last = error;
      } finally {
        await rm(fresh, { recursive: true, force: true });
      }
    }
    throw last;
  }

  async function unpackHinted({ toml, archive }: ArchivedFiles, digest: string, into: string): Promise<void> {
    const text = await fetchArchive({ ...toml, url: null }, sources);
    const bytes = archive === null ? null : await fetchArchive(archive, sources);
    const loaded = await unpackContract(new TextDecoder().decode(text), bytes, into, sources.limits);
    if (loaded.digest !== digest)
      throw new ArchiveError('contract_mismatch', 'its archive holds another contract than the one that the plan pins');
  }

  return {
    async fetch(digest, hints) {
      // A contract that needs no file but itself.
      if (Array.isArray(hints) && hints.length === 0) return;
      const asked = sha256Hex(utf8(`${digest} ${JSON.stringify(hints)}`));
      for (let tried = false; ; ) {
        const checked = here.get(digest)?.checkedAt;
        if (checked !== undefined && performance.now() - checked < recheckMs) return;
        const failed = failures.get(asked);
        if (tried || (failed !== undefined && performance.now() - failed < rememberMs)) return;
        const under = coming.get(digest);
        if (under === undefined) {
          const work = bring(digest, hints, asked).finally(() => coming.delete(digest));
          coming.set(digest, { asked, work });
          return work;
        }
        await under.work;
        tried = under.asked === asked;
      }
    },
    locate: (digest) => here.get(digest) ?? null,
    whyNot: (digest) => reasons.get(digest) ?? null,
  };
}

/** Programs are run from here: in a shared temporary folder somebody else may have been first. */
async function assertOurs(cacheDir: string): Promise<void> {
  const { uid } = await stat(cacheDir);
  const me = process.getuid?.() ?? uid;
  if (uid === me || uid === 0) return;
  throw new ArchiveError(
    'archive_unavailable',
    'the folder of unpacked contracts belongs to another user: set TRUSS_CACHE_DIR to one of your own',
  );
}

/** The contract in a folder, if all that its digest pins is there. */
async function loadedFrom(folder: string, digest: string): Promise<LoadedContract | null> {
  const found = await loadContract(join(folder, CONTRACT_FILE)).catch(() => null);
  return found?.digest === digest ? found : null;
}

/** Another process may have done the same in the meantime; what lay there before, and was spoilt, makes way. */
async function putInPlace(from: string, folder: string, digest: string): Promise<LoadedContract> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const moved = await rename(from, folder).then(
      () => true,
      () => false,
    );
    const found = await loadedFrom(folder, digest);
    if (found !== null) return found;
    if (!moved) await rename(folder, `${from}-spoilt-${attempt}`).catch(() => {});
  }
  throw new ArchiveError(
    'archive_unavailable',
    'its files do not stay as they are in the folder of unpacked contracts',
  );
}
