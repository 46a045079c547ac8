import { stat } from 'node:fs/promises';
import { isAbsolute, join, posix } from 'node:path';
import type { Problems } from './errors.js';
import { realPathInside, sha256File } from './files.js';
import { renderCase } from './template.js';
import { locate, type TableNode } from './toml.js';
import type { Contract, Program } from './types.js';

type Word = { word: string; path: (string | number)[]; from: 'agent' | 'panel' | 'criteria' | 'recording' };

/**
 * The files beside the contract that its commands name, and the recordings that it plays: part of what is run, so pinned by their
 * bytes. A word of a criterion counts only if the workspace has no such file, because tests live there.
 * @param hidden names beside the contract that an agent must not be given: the contract, its cases and recordings
 */
export async function findPrograms(
  contract: Contract,
  root: TableNode,
  problems: Problems,
  directory: string,
  workspaceDir: string | null,
  hidden: string[],
): Promise<Program[]> {
  const programs = new Map<string, Program>();
  const reserved = new Set<string>();
  for (const { word, path, from } of words(contract)) {
    const name = posix.normalize(word);
    const at = locate(root, ...path);
    const found = await fileBeside(directory, word);
    if (found === null) {
      if (from === 'recording') {
        const advice = 'check the path, or name the provider to record with `record_from`';
        problems.add('path', at, `there is no recording \`${word}\``, advice);
      }
      continue;
    }
    if (from === 'criteria' && workspaceDir !== null && (await fileBeside(workspaceDir, word)) !== null) {
      if (!reserved.has(name)) continue;
      const what = `\`${word}\` is both beside the contract, where another command uses it, and in the workspace`;
      problems.add('path', at, what, 'rename one of the two');
    } else if (found === 'outside') {
      problems.add(
        'path',
        at,
        `\`${word}\` is not in the contract's folder`,
        'move it there, or give an absolute path, which is not pinned',
      );
    } else if (from === 'agent' && hidden.includes(name)) {
      problems.add(
        'path',
        at,
        `\`${word}\` would show the agent what it is judged by`,
        'give it its inputs through TRUSS_CONTEXT',
      );
    } else if (!programs.has(name)) {
      programs.set(name, { path: name, sha256: await sha256File(found.path, found.bytes), bytes: found.bytes });
    }
    if (from !== 'criteria') reserved.add(name);
  }
  return [...programs.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function words(contract: Contract): Word[] {
  const { agent, panel, cases, providers } = contract;
  const each = (from: Word['from'], argv: string[], ...path: (string | number)[]): Word[] =>
    argv.map((word, index) => ({ word, path: [...path, index], from }));
  const ofAgent = agent.kind === 'command' ? each('agent', agent.command, 'agent', 'command') : [];
  const ofPanel = (panel?.reviewers ?? []).flatMap((reviewer, index) =>
    'command' in reviewer ? each('panel', reviewer.command, 'panel', 'reviewers', index, 'command') : [],
  );
  const ofCriteria = new Map<string, Word>();
  for (const row of cases.length > 0 ? cases : [null]) {
    for (const [index, criterion] of renderCase(contract, row).criteria.entries()) {
      if (criterion.kind !== 'command') continue;
      for (const word of each('criteria', criterion.run, 'criteria', index, 'run')) ofCriteria.set(word.word, word);
    }
  }
  // A recording that still grows cannot be pinned.
  const recordings = Object.entries(providers).flatMap(([name, { file, record_from: from }]) =>
    file === null || from !== null ? [] : { word: file, path: ['providers', name, 'file'], from: 'recording' as const },
  );
  return [...ofAgent, ...ofPanel, ...recordings, ...ofCriteria.values()];
}

/** A regular file that a relative path names from a folder; `null` when there is none. */
async function fileBeside(
  directory: string,
  word: string,
): Promise<{ path: string; bytes: number } | 'outside' | null> {
  if (word === '' || isAbsolute(word) || word.includes('\0')) return null;
  const info = await stat(join(directory, word)).catch(() => null);
  if (!info?.isFile()) return null;
  const path = await realPathInside(directory, word);
  if (path === 'outside') return path;
  return path === 'absent' ? null : { path, bytes: info.size };
}

/** The command to run: words that name a program of the contract become absolute, all others stay as they are. */
export function resolveArgv(argv: string[], contractDir: string, contract: Contract): string[] {
  const known = new Set(contract.programs.map(({ path }) => path));
  return argv.map((word) => (known.has(posix.normalize(word)) ? join(contractDir, posix.normalize(word)) : word));
}
