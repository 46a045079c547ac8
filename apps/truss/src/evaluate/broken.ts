import { EXIT, type ExitCode, exitCodeOf } from '../exit-codes.js';

/** What an evaluation was stopped by, as its user is told, and how the process ends: an expected stop can be resumed. */
export function brokenBy(error: unknown): { readonly why: string; readonly exitCode: ExitCode } {
  if (!(error instanceof Error)) return { why: String(error), exitCode: EXIT.unexpected };
  const cause = error.cause instanceof Error ? error.cause : null;
  if (error.name === 'CannotGoOn' && 'code' in error) {
    // What happened to the log says more than that something did.
    if (error.code === 'log_failed' && cause !== null) return brokenBy(cause);
    return { why: cause === null ? error.message : `${error.message} (${cause.message})`, exitCode: EXIT.stopped };
  }
  const unexpected = exitCodeOf(error) === EXIT.unexpected;
  return { why: error.message, exitCode: unexpected ? EXIT.unexpected : EXIT.stopped };
}
