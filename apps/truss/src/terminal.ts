import { styleText } from 'node:util';

type Paint = Parameters<typeof styleText>[0];

/** Thrown when whoever reads our output has closed it, as `head` does: there is nobody left to write to. */
export class OutputClosed extends Error {
  override readonly name = 'OutputClosed';
}

/** One of the two outputs of a command. */
export interface Output {
  readonly isTerminal: boolean;
  /** Characters in a line, now; 80 where nobody knows. */
  columns(): number;
  /** Colours and emphasis, where they are wanted: a terminal without NO_COLOR, or FORCE_COLOR. */
  paint(style: Paint, text: string): string;
  /** @throws OutputClosed */
  write(text: string): Promise<void>;
}

export interface Terminal {
  /** The result: what cannot be written there is an error. */
  readonly out: Output;
  /** For whoever looks on: what cannot be shown there is dropped, because the work and its exit code do not hang on it. */
  readonly err: Output;
}

export function openTerminal(): Terminal {
  const err = outputOf(process.stderr);
  return { out: outputOf(process.stdout), err: { ...err, write: (text) => err.write(text).catch(() => {}) } };
}

function outputOf(stream: NodeJS.WriteStream): Output {
  const isTerminal = stream.isTTY === true && process.env['TERM'] !== 'dumb';
  const colours = coloursWanted(isTerminal, process.env);
  // The error also comes to the callback of the write; without a listener it would end the process.
  stream.on('error', () => {});
  return {
    isTerminal,
    columns: () => stream.columns || 80,
    paint: (style, text) => (colours && text !== '' ? styleText(style, text, { validateStream: false }) : text),
    write: (text) =>
      new Promise((resolve, reject) => {
        stream.write(text, (error) => {
          if (error == null) resolve();
          else if ('code' in error && error.code === 'EPIPE') reject(new OutputClosed('the output was closed'));
          else reject(error);
        });
      }),
  };
}

/** NO_COLOR (no-color.org) wins over FORCE_COLOR (force-color.org), and both over what the output is. */
export function coloursWanted(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  const set = (name: string) => env[name] !== undefined && env[name] !== '';
  if (set('NO_COLOR')) return false;
  if (set('FORCE_COLOR')) return env['FORCE_COLOR'] !== '0' && env['FORCE_COLOR'] !== 'false';
  return isTerminal;
}
