import { hash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename, dirname, join, posix, relative, resolve } from 'node:path';
import { canonicalJson } from '#lib/ledger';
import { readCasesFile } from './cases-file.js';
import { type At, errorAt, Problems } from './errors.js';
import { type Draft, readCases, readSections } from './draft.js';
import { readText, realPathInside } from './files.js';
import { findPrograms } from './programs.js';
import { checkRules } from './rules.js';
import { Table } from './table.js';
import { locate, type Node, parseToml, type TableNode } from './toml.js';
import type { Contract, LoadedContract, Workspace } from './types.js';
import { snapshotWorkspace, WorkspaceError, workspaceDigest } from './workspace.js';

const maxBytes = 4 * 1024 * 1024;
const maxCases = 100_000;

/**
 * Reads, checks and resolves a contract file with all that belongs to it: its cases, its workspace, the programs beside it.
 * @param file path of the TOML file, at most 4 MiB; messages show it as given
 * @throws ContractError for the first problem by position
 */
export async function loadContract(file: string): Promise<LoadedContract> {
  const root = parseToml(await readText(resolve(file), file, maxBytes), file);
  const directory = dirname(resolve(file));
  const problems = new Problems();
  const draft = readSections(root, problems);
  problems.throwFirst();
  if (draft.casesFile !== null) {
    root.entries.set('cases', { at: root.at, node: await casesNode(root, draft.casesFile, file, directory) });
    draft.contract.cases = readCases(new Table(root, 'the contract', problems));
  }
  if (draft.contract.cases.length > maxCases) {
    problems.add(
      'too_large',
      locate(root, 'cases', maxCases),
      `more than ${maxCases} cases`,
      'split them over several contracts',
    );
  }
  problems.throwFirst();
  checkRules(draft.contract, root, problems);
  problems.throwFirst();

  const recordings = Object.values(draft.contract.providers).flatMap((provider) => provider.file ?? []);
  const beside = [...(draft.casesFile === null ? [] : [draft.casesFile]), ...recordings];
  const hidden = [basename(file), ...beside.map((path) => posix.normalize(path))];
  const { workspace, workspaceDir } = await openWorkspace(draft, root, directory, hidden);
  const programs = await findPrograms(draft.contract, root, problems, directory, workspaceDir, hidden);
  problems.throwFirst();
  const contract: Contract = { ...draft.contract, workspace, programs };
  return { contract, digest: contractDigest(contract), directory, workspaceDir };
}

/** Hex SHA-256 of the JCS text of a contract. */
export function contractDigest(contract: Contract): string {
  return hash('sha256', canonicalJson(contract));
}

async function casesNode(root: TableNode, path: string, file: string, directory: string): Promise<Node> {
  const at = locate(root, 'cases_file');
  const real = await realPathInside(directory, path);
  if (real === 'outside')
    throw errorAt('path', at, `the cases file \`${path}\` is not in the contract's folder`, 'move it there');
  if (real === 'absent')
    throw errorAt(
      'path',
      at,
      `there is no cases file \`${path}\``,
      "check the path; it is relative to the contract's folder",
    );
  const items = await readCasesFile(real, join(dirname(file), path));
  if (items.length === 0) throw errorAt('path', at, `the cases file \`${path}\` has no cases`, 'add one a line');
  return { kind: 'array', at, items };
}

async function openWorkspace(
  { contract, workspacePath: path }: Draft,
  root: TableNode,
  directory: string,
  hidden: string[],
): Promise<{ workspace: Workspace; workspaceDir: string | null }> {
  if (path === null) return { workspace: contract.workspace, workspaceDir: null };
  const at = locate(root, 'workspace', 'path');
  const dir = await workspaceFolder(path, at, directory);
  for (const name of hidden) {
    const found = await realPathInside(directory, name);
    const real = found === 'absent' ? join(directory, name) : found;
    if (!relative(dir, real).startsWith('..')) {
      throw errorAt(
        'path',
        at,
        `the workspace \`${path}\` contains \`${name}\``,
        'use another folder: the agent must not see what it is judged by',
      );
    }
  }
  try {
    const files = await snapshotWorkspace(dir);
    const bytes = files.reduce((sum, entry) => sum + entry.bytes, 0);
    return {
      workspace: { ...contract.workspace, digest: workspaceDigest(files), files: files.length, bytes },
      workspaceDir: dir,
    };
  } catch (cause) {
    if (!(cause instanceof WorkspaceError)) throw cause;
    const code = cause.code === 'too_large' || cause.code === 'too_many_files' ? 'too_large' : 'path';
    throw errorAt(code, at, `the workspace \`${path}\` cannot be used`, cause.message, cause);
  }
}

async function workspaceFolder(path: string, at: At, directory: string): Promise<string> {
  const real = await realPathInside(directory, path);
  if (real === 'outside') {
    throw errorAt(
      'path',
      at,
      `the workspace \`${path}\` is outside the contract's folder`,
      'move it there, and write its path relative to the contract',
    );
  }
  if (real === 'absent')
    throw errorAt(
      'path',
      at,
      `there is no workspace \`${path}\``,
      'make the folder, or leave `path` out for an empty one',
    );
  if (!(await stat(real)).isDirectory())
    throw errorAt('path', at, `the workspace \`${path}\` is not a folder`, 'name a folder');
  return real;
}
