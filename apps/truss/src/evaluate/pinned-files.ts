import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Contract, type LoadedContract, snapshotWorkspace, workspaceDigest } from '#lib/contract';
import type { EvalRequested } from '#lib/evaluation';
import type { EvalRunId } from '#lib/ledger';
import { usageError } from '../exit-codes.js';

/**
 * The contract of a request that was made before, once the files that its plan pins are found where they were and as they were: each run
 * would otherwise end as a fault of the infrastructure, and the evaluation be spent on those.
 * @throws CliError
 */
export async function pinnedContract(request: EvalRequested, evaluation: EvalRunId): Promise<LoadedContract> {
  const [pinned] = request.contracts;
  const [files] = request.files;
  if (pinned === undefined || files === undefined || !('directory' in files)) {
    throw usageError(
      `${evaluation} was asked for without saying where the files of its contract are: start a new evaluation`,
    );
  }
  const { directory, workspace: workspaceDir } = files;
  if (!existsSync(directory)) {
    throw usageError(
      `the contract's folder ${directory} is gone, and ${evaluation} needs what is in it: put it back, then resume`,
    );
  }
  const contract = pinned.contract as Contract;
  const changed = await changedFiles(contract, directory, workspaceDir);
  if (changed.length > 0) {
    throw usageError(
      `${evaluation} cannot go on, because what its plan pins is not what is in ${directory} now: ${changed.join(', ')}. ` +
        'Put it back as it was, or start a new evaluation',
    );
  }
  return { contract, digest: pinned.digest, directory, workspaceDir };
}

async function changedFiles(
  { programs, workspace }: Contract,
  directory: string,
  workspaceDir: string | null,
): Promise<string[]> {
  const changed: string[] = [];
  for (const { path, sha256 } of programs) {
    const found = await readFile(join(directory, path)).catch(() => null);
    if (found === null) changed.push(`${path} cannot be read`);
    else if (hash('sha256', found) !== sha256) changed.push(`${path} has changed`);
  }
  if (workspace.digest === null) return changed;
  const found = workspaceDir === null ? null : await snapshotWorkspace(workspaceDir).catch(() => null);
  if (found === null) changed.push('the workspace cannot be read');
  else if (workspaceDigest(found) !== workspace.digest) changed.push('the files of the workspace have changed');
  return changed;
}
