export type ArchiveErrorCode =
  | 'archive_malformed'
  | 'archive_unsafe'
  | 'archive_too_large'
  | 'archive_mismatch'
  | 'archive_unavailable'
  | 'archive_not_allowed'
  | 'contract_mismatch';

/** An archive that cannot be had, or must not be unpacked. The message says what to do, and names no path of this machine. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';

  constructor(
    readonly code: ArchiveErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
