/** What the process says when it ends: INTERFACE.md. */
export const EXIT = {
  done: 0,
  unexpected: 1,
  usage: 2,
  gate: 3,
  notValid: 4,
  notFound: 5,
  stopped: 6,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends a command with one clear message: what, where, what was expected, what to do. */
export class CliError extends Error {
  override readonly name = 'CliError';
  constructor(
    readonly exitCode: ExitCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Ends a command that stopped before its end, which need not be anybody's mistake. */
export function stoppedError(message: string, cause?: unknown): CliError {
  return new CliError(EXIT.stopped, message, cause === undefined ? undefined : { cause });
}

export function usageError(message: string, cause?: unknown): CliError {
  return new CliError(EXIT.usage, message, cause === undefined ? undefined : { cause });
}

/** Errors of the libraries that speak of what the user gave; everything else is unexpected. */
const BAD_INPUT: ReadonlySet<string> = new Set([
  'ContractError',
  'WorkspaceError',
  'LessonError',
  'KeyStoreError',
  'LogError',
  'ConfigError',
  'SchemaError',
  'ViewsError',
  'RequestError',
  'ArchiveError',
]);

/** By name, so that the libraries need not be loaded to tell. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode;
  return error instanceof Error && BAD_INPUT.has(error.name) ? EXIT.usage : EXIT.unexpected;
}
