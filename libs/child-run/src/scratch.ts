import { chmod, mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killStragglers } from './stragglers.js';

/** Fresh, empty folders for one program. `base` holds them and files that belong to none of them. */
export interface Place {
  readonly base: string;
  readonly workspace: string;
  readonly home: string;
  readonly tmp: string;
}

/** The folders of one run below one temporary root, made when first needed: a run that starts no program has none. */
export class Scratch {
  #root: Promise<string> | null = null;
  #places = 0;

  async place(): Promise<Place> {
    this.#root ??= mkdtemp(join(tmpdir(), 'truss-')).then((path) => realpath(path));
    this.#places += 1;
    const base = join(await this.#root, String(this.#places));
    const place = { base, workspace: join(base, 'workspace'), home: join(base, 'home'), tmp: join(base, 'tmp') };
    await mkdir(base);
    await Promise.all([mkdir(place.workspace), mkdir(place.home), mkdir(place.tmp)]);
    return place;
  }

  /** Ends what a program left running, and removes its folders. */
  async clear(place: Place): Promise<void> {
    await killStragglers(place.base);
    await removeTree(place.base);
  }

  async dispose(): Promise<void> {
    if (this.#root === null) return;
    const root = await this.#root.catch(() => null);
    this.#root = null;
    if (root === null) return;
    await killStragglers(root);
    await removeTree(root);
  }
}

/** Removes a folder with folders in it that deny it. What still cannot be removed stays: a run does not fail for it. */
async function removeTree(path: string): Promise<void> {
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 2 });
  try {
    await remove();
  } catch {
    await openFolders(path).catch(() => {});
    await remove().catch(() => {});
  }
}

async function openFolders(path: string): Promise<void> {
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await openFolders(join(path, entry.name));
  }
}
