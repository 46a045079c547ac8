import { CommanderError } from 'commander';
import { EXIT, type ExitCode, exitCodeOf } from './exit-codes.js';
import { createProgram } from './program.js';
import { theTerminal } from './commands/context.js';
import { OutputClosed } from './terminal.js';

/** Runs the command line and ends the process with its exit code. */
export async function main(argv: readonly string[]): Promise<never> {
  process.exit(await run(argv));
}

/** Runs the command line; what goes wrong is explained on stderr. */
export async function run(argv: readonly string[]): Promise<ExitCode> {
  const { err } = theTerminal();
  process.exitCode = undefined;
  try {
    await createProgram().parseAsync([...argv]);
    return process.exitCode ?? EXIT.done;
  } catch (error) {
    return explain(error, argv.includes('--debug'), err.write, err.paint);
  }
}

async function explain(
  error: unknown,
  debug: boolean,
  say: (text: string) => Promise<void>,
  paint: (style: 'red' | 'yellow', text: string) => string,
): Promise<ExitCode> {
  // Whoever read our output has what they wanted.
  if (error instanceof OutputClosed) return EXIT.done;
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.done;
    await say(`${paint('red', 'error:')} ${error.message.replace(/^error: /, '')}\n`);
    return EXIT.usage;
  }
  const code = exitCodeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  await say(`${code === EXIT.stopped ? paint('yellow', 'stopped:') : paint('red', 'error:')} ${message}\n`);
  if (debug && error instanceof Error) await say(`${traceOf(error)}\n`);
  else if (code === EXIT.unexpected) await say('This was not expected. --debug shows where it came from.\n');
  return code;
}

function traceOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${traceOf(error.cause)}` : '';
  return `${error.stack ?? error.message}${cause}`;
}
