import { mkdir, mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clearAbandoned, rootPrefix } from './abandoned.js';
import { removeTree } from './remove-tree.js';
import { killStragglers } from './stragglers.js';

/** Fresh, empty folders for one program. `base` holds them and files that belong to none of them. */
export interface Place {
  readonly base: string;
  readonly workspace: string;
  readonly home: string;
  readonly tmp: string;
}

let cleared: Promise<void> | null = null;

async function newRoot(): Promise<string> {
  cleared ??= clearAbandoned(tmpdir());
  await cleared;
  return realpath(await mkdtemp(join(tmpdir(), await rootPrefix())));
}

/** The folders of one run below one temporary root, made when first needed: a run that starts no program has none. */
export class Scratch {
  #root: Promise<string> | null = null;
  #places = 0;

  async place(): Promise<Place> {
    this.#root ??= newRoot();
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
