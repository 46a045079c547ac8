import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from './remove-tree.js';
import { killStragglers } from './stragglers.js';

const PREFIX = 'truss-';
const ROOT = /^truss-(\d+)-(\d+)-\w+$/;

/** How the name of a root begins: it says whose it is by process id, which means something within one pid namespace only. */
export async function rootPrefix(): Promise<string> {
  const namespace = await pidNamespace();
  return namespace === null ? PREFIX : `${PREFIX}${namespace}-${process.pid}-`;
}

/**
 * Ends what a killed Truss left running on this machine, so that an agent which nobody listens to spends no more, and removes its
 * folders. On Linux only. A root whose process id is in use again stays.
 */
export async function clearAbandoned(folder: string): Promise<void> {
  const namespace = await pidNamespace();
  if (namespace === null) return;
  for (const name of await readdir(folder).catch(() => [])) {
    const [, home, pid] = ROOT.exec(name) ?? [];
    if (home !== namespace || isRunning(Number(pid))) continue;
    const root = join(folder, name);
    const info = await lstat(root).catch(() => null);
    if (info?.isDirectory() !== true || info.uid !== process.getuid?.()) continue;
    await killStragglers(root);
    await removeTree(root);
  }
}

async function pidNamespace(): Promise<string | null> {
  if (process.platform !== 'linux') return null;
  const link = await readlink('/proc/self/ns/pid').catch(() => '');
  return /\d+/.exec(link)?.[0] ?? null;
}

// A process of somebody else answers EPERM, and runs.
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return !(cause instanceof Error && 'code' in cause && cause.code === 'ESRCH');
  }
}
