import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** The smallest contract that loads, line by line: tests replace lines by number (from 1) and append more from line 12. */
const base = [
  'id = "pager"',
  'instructions = "Repair it."',
  '[agent]',
  'kind = "command"',
  'command = ["node"]',
  '[[criteria]]',
  'id = "tests"',
  'kind = "command"',
  'run = ["node", "--test"]',
  '[budget]',
  'max_steps = 4',
];

export type Change = { [line: number]: string; more?: string[] };

export function contractText({ more = [], ...lines }: Change = {}): string {
  const changed = base.map((line, index) => lines[index + 1] ?? line);
  return [...changed, ...more, ''].join('\n');
}

/** A folder with these files, gone after the test. */
export async function folderWith(files: Record<string, string | Uint8Array>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'truss-contract-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), content);
  }
  return directory;
}
