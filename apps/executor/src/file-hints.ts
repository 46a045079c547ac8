import { setTimeout as sleep } from 'node:timers/promises';
import type { Contract } from '#lib/contract';
import type { TopicRecord } from '#lib/event-log';
import type { JsonValue } from '#lib/ledger';
import type { ContractLocator } from '#lib/runtime';

/** How long a run waits for another command when its files were not where the last one said. */
const PATIENCE_MS = 2_000;

/**
 * Where the files of a run's contract may be had, as its commands say. Anybody may have written a command, and before its owner did: so each is
 * tried, and where none was right one more is waited for.
 */
export class FileHints {
  readonly #said: JsonValue[] = [];
  #more = Promise.withResolvers<void>();

  constructor(command: TopicRecord) {
    this.add(command);
  }

  add({ value }: TopicRecord): void {
    this.#said.push((value as { files?: JsonValue } | null)?.files ?? null);
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }

  /** Resolves when the files are here, or cannot be had. */
  async fetch(contracts: ContractLocator, digest: string, contract: Contract): Promise<void> {
    for (let next = 0; ; ) {
      const more = this.#more.promise;
      for (; next < this.#said.length; next++) {
        await contracts.fetch(digest, this.#said[next] ?? null);
        if (contracts.locate(digest) !== null) return;
      }
      if (contracts.whyNot(digest) === null && !(this.#saidNothing && needsFiles(contract))) return;
      const late = sleep(PATIENCE_MS, 'late' as const, { ref: false });
      if ((await Promise.race([more, late])) === 'late') return;
    }
  }

  get #saidNothing(): boolean {
    return this.#said.every((files) => Array.isArray(files) && files.length === 0);
  }
}

function needsFiles({ programs, workspace }: Contract): boolean {
  return programs.length > 0 || workspace.digest !== null;
}
