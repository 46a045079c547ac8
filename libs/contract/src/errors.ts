/** A place in a file; lines and columns count from 1. */
export type At = { file: string; line: number; column: number };

export type ContractErrorCode =
  | 'unreadable'
  | 'syntax'
  | 'unknown_key'
  | 'secret_in_file'
  | 'missing'
  | 'invalid'
  | 'duplicate'
  | 'unknown_provider'
  | 'no_panel'
  | 'template'
  | 'path'
  | 'too_large';

/** A contract that cannot be used: one sentence that says what is wrong, where, and what to do. */
export class ContractError extends Error {
  override readonly name = 'ContractError';

  /** `line` and `column` are `null` when the file as a whole is at fault. */
  constructor(
    readonly code: ContractErrorCode,
    readonly file: string,
    readonly line: number | null,
    readonly column: number | null,
    message: string,
    options?: { cause: unknown },
  ) {
    super(message, options);
  }
}

/** Puts together "<what> at <file>:<line>:<column>: <advice>". */
export function errorAt(code: ContractErrorCode, at: At, what: string, advice: string, cause?: unknown): ContractError {
  const message = `${what} at ${at.file}:${at.line}:${at.column}: ${advice}`;
  return new ContractError(code, at.file, at.line, at.column, message, cause === undefined ? undefined : { cause });
}

type Problem = { error: ContractError; at: At };

/** Collects problems, so that the one that stands first in the file is the one that is said. */
export class Problems {
  readonly #found: Problem[] = [];

  add(code: ContractErrorCode, at: At, what: string, advice: string, cause?: unknown): void {
    this.#found.push({ error: errorAt(code, at, what, advice, cause), at });
  }

  /** Throws the first by position. What is absent comes last: a misspelt key is the better clue to it. */
  throwFirst(): void {
    const late = ({ error }: Problem) => (error.code === 'missing' ? 1 : 0);
    const [first] = this.#found.toSorted(
      (a, b) => late(a) - late(b) || a.at.line - b.at.line || a.at.column - b.at.column,
    );
    if (first) throw first.error;
  }
}
