import type { Command } from 'commander';
import { openTerminal, type Terminal } from '../terminal.js';

/** What every command is given besides its own options. */
export interface Context {
  readonly db: string;
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
  return { db, terminal: theTerminal() };
}

/** The examples at the end of a command's help. */
export function examples(...lines: readonly (readonly [command: string, what: string])[]): string {
  const width = Math.max(...lines.map(([command]) => command.length));
  const shown = lines.map(([command, what]) => `  ${command.padEnd(width)}  ${what}`.trimEnd());
  return `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${shown.join('\n')}`;
}
