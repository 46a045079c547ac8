import type { Command } from 'commander';
import type { ConfigFlags } from '#lib/service';
import { clusterOf } from '../cluster.js';
import { usageError } from '../exit-codes.js';
import { clusterPlace, filePlace, type Place } from '../place.js';
import { openTerminal, type Terminal } from '../terminal.js';

/** What every command is given besides its own options. */
export interface Context {
  /** The database file. @throws CliError where a cluster was named, and the command works on a file only */
  readonly db: string;
  /** What the command line says of a cluster; `null` where a database is meant. */
  readonly cluster: ConfigFlags | null;
  /** Where evaluations are read. */
  readonly place: Place;
  readonly terminal: Terminal;
}

export interface GlobalOptions {
  readonly db: string;
  readonly debug?: boolean;
  readonly verify?: string;
}

let terminal: Terminal | null = null;

/** One for the process, so that its outputs are watched once. */
export function theTerminal(): Terminal {
  terminal ??= openTerminal();
  return terminal;
}

export function contextOf(command: Command): Context {
  const { db } = command.optsWithGlobals<GlobalOptions>();
  const cluster = clusterOf(command, process.env);
  const brokers = cluster?.brokers ?? process.env['TRUSS_BROKERS'] ?? 'the cluster';
  return {
    get db() {
      if (cluster === null) return db;
      const how =
        cluster.brokers === undefined && process.env['TRUSS_BROKERS'] !== undefined
          ? 'TRUSS_BROKERS is set'
          : 'a cluster is named';
      throw usageError(`${how}, and truss ${command.name()} works on a database: give --db FILE to say which`);
    },
    cluster,
    place: cluster === null ? filePlace(db) : clusterPlace(cluster, brokers),
    terminal: theTerminal(),
  };
}

/** The examples at the end of a command's help. */
export function examples(...lines: readonly (readonly [command: string, what: string])[]): string {
  const width = Math.max(...lines.map(([command]) => command.length));
  const shown = lines.map(([command, what]) => `  ${command.padEnd(width)}  ${what}`.trimEnd());
  return `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${shown.join('\n')}`;
}
