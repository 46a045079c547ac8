import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadContract, type LoadedContract } from '#lib/contract';
import type { ArchiveLimits } from './limits.js';
import { unpack } from './unpack.js';

/** The name under which a contract's text lies beside its files; no archive may hold it. */
export const CONTRACT_FILE = 'truss-contract.toml';

/**
 * Puts a contract's text and files into a folder, and loads it: what it pins is what is there, so its digest says whether it is the one that
 * was meant.
 * @throws ArchiveError, ContractError, WorkspaceError
 */
export async function unpackContract(
  toml: string,
  archive: Uint8Array | null,
  into: string,
  limits?: ArchiveLimits,
): Promise<LoadedContract> {
  await mkdir(into, { recursive: true, mode: 0o700 });
  if (archive !== null) await unpack(archive, into, limits, [CONTRACT_FILE]);
  await writeFile(join(into, CONTRACT_FILE), toml, { flag: 'wx' });
  return loadContract(join(into, CONTRACT_FILE));
}

/** What a contract is that came as text and files; nothing of it stays on the disk. @throws as `unpackContract` */
export async function readContract(
  toml: string,
  archive: Uint8Array | null,
  limits?: ArchiveLimits,
): Promise<Pick<LoadedContract, 'contract' | 'digest'>> {
  const folder = await mkdtemp(join(tmpdir(), 'truss-contract-'));
  try {
    const { contract, digest } = await unpackContract(toml, archive, join(folder, 'files'), limits);
    return { contract, digest };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
