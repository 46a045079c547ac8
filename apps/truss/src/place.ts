import { realpathSync } from 'node:fs';
import type { ReadDatabase } from './database.js';
import { shellWord } from './format.js';

/** Where evaluations are kept: a database file, or the topics of a cluster. Made for every command: what it needs is loaded when it is opened. */
export interface Place {
  /** As a person calls it. */
  readonly name: string;
  /** The options that repeat it, for a hint that can be pasted. */
  readonly option: string;
  /** Whether a process of this machine drives what is open here. */
  isDriven(): Promise<boolean>;
  /** To read beside whoever drives it. @throws LogError, KeyStoreError, CliError for an empty trust store */
  open(): Promise<ReadDatabase>;
}

export function filePlace(db: string): Place {
  return {
    name: db,
    option: dbOption(db),
    isDriven: async () => (await import('#lib/event-log')).isDriven(realpathSync(db)),
    open: async () => (await import('./database.js')).openToRead(db),
  };
}

export function dbOption(db: string): string {
  return `--db ${shellWord(db)}`;
}
