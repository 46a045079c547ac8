/** Every code that {@link LedgerError} carries when this library refuses an input. */
export type LedgerErrorCode = string;

/** Thrown by every function of the ledger library that refuses its input. The `code` is stable, the message says what to do. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError';

  constructor(
    readonly code: LedgerErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
