import type { Command } from 'commander';
import { filePlace, type Place } from '../place.js';
import { openTerminal, type Terminal } from '../terminal.js';

/** What every command is given besides its own options. */
export interface Context {
  /** The database file. @throws CliError where a cluster was named, and the command works on a file only */
  readonly db: string;
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
  return { db, place: filePlace(db), terminal: theTerminal() };
}

/** The examples at the end of a command's help. */
export function examples(...lines: readonly (readonly [command: string, what: string])[]): string {
  const width = Math.max(...lines.map(([command]) => command.length));
  const shown = lines.map(([command, what]) => `  ${command.padEnd(width)}  ${what}`.trimEnd());
  return `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${shown.join('\n')}`;
}
