import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** Packs the package as npm would publish it and unpacks it into a fresh project, with its dependencies beside it. */
export async function installPacked(): Promise<{ readonly project: string; readonly files: readonly string[] }> {
  const project = mkdtempSync(join(tmpdir(), 'truss-package-'));
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', project];
  const { stdout } = await run('npm', args, { cwd: ROOT, maxBuffer: 2 ** 26 });
  const packed: unknown = JSON.parse(stdout);
  const [tarball] = Object.values(packed as object) as { filename: string; files: { path: string }[] }[];
  if (tarball === undefined) throw new Error('npm packed nothing');
  const home = join(project, 'node_modules', 'truss-eval');
  mkdirSync(home, { recursive: true });
  await run('tar', ['-xzf', join(project, tarball.filename), '-C', home, '--strip-components=1']);
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: object };
  for (const name of Object.keys(dependencies)) {
    mkdirSync(join(project, 'node_modules', name, '..'), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name), 'dir');
  }
  return { project, files: tarball.files.map(({ path }) => path) };
}

/** Runs a module under plain node in the folder, and returns what it prints as JSON. */
export async function runModule(folder: string, source: string, ...flags: readonly string[]): Promise<unknown> {
  const { stdout } = await run(process.execPath, [...flags, '--input-type=module', '-e', source], { cwd: folder });
  return JSON.parse(stdout);
}
