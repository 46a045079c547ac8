import { realpathSync } from 'node:fs';
import type { ReadDatabase } from './database.js';
import type { ConfigFlags } from '#lib/service';
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
  const place: Place = {
    name: db,
    option: dbOption(db),
    isDriven: async () => (await import('#lib/event-log')).isDriven(realpathSync(db)),
    open: async () => (await import('./database.js')).openToRead(db, place),
  };
  return place;
}

/** Passwords are in no option, so none is repeated. */
export function clusterPlace(flags: ConfigFlags, brokers: string): Place {
  const options = Object.entries(flags).map(([name, value]) => `--${name} ${shellWord(String(value))}`);
  return {
    name: brokers,
    option: options.join(' ') || `--brokers ${shellWord(brokers)}`,
    // By services elsewhere: whether they run, nobody here can tell.
    isDriven: async () => true,
    async open() {
      const [{ openDistributed }, { readingConfig }] = await Promise.all([
        import('./distributed.js'),
        import('./cluster.js'),
      ]);
      const opened = await openDistributed(await readingConfig(flags), { fatal: endNow });
      return { ...opened, place: clusterPlace(flags, brokers) };
    },
  };
}

/** A reader whose log cannot go on has nothing to put in order. */
function endNow(error: unknown): void {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

export function dbOption(db: string): string {
  return `--db ${shellWord(db)}`;
}
