import { LogError } from './port.js';

/** Primary result codes, sqlite.org/rescode.html. */
const SQLITE = {
  perm: 3,
  busy: 5,
  locked: 6,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  auth: 23,
  notADatabase: 26,
};

/** What SQLite said, in the words of the log. An error that is not SQLite's comes back as it is. */
export function asLogError(error: unknown, file: string, doing: 'open' | 'read' | 'write'): unknown {
  if (error instanceof LogError || !(error instanceof Error)) return error;
  if ('code' in error && error.code === 'ERR_INVALID_STATE') {
    return new LogError('log_closed', `${file} was closed: open it again`, { cause: error });
  }
  if (!('errcode' in error)) return error;
  const as = (code: LogError['code'], message: string, retryable = false): LogError =>
    new LogError(code, message, { cause: error, retryable });
  const readOnly = () =>
    as('log_read_only', `${file} or its folder is read-only: make it writable, or use a command that only reads`);
  switch (Number(error.errcode) & 0xff) {
    case SQLITE.full:
      return as('log_full', `${file}: the disk is full, nothing was written: free some space and go on`, true);
    case SQLITE.ioError:
      if (doing === 'read') return as('log_unreadable', `${file} could not be read: check the disk`, true);
      return as(
        'log_full',
        `${file}: the disk is full or failing, nothing was written: free some space or check it`,
        true,
      );
    case SQLITE.readOnly:
      return readOnly();
    case SQLITE.busy:
    case SQLITE.locked:
      return as('log_busy', `${file} is being written by another process: try again`, true);
    case SQLITE.corrupt:
      return as('log_corrupt', `${file} is damaged: restore it from a copy`);
    case SQLITE.notADatabase:
      if (doing === 'open')
        return as('log_not_ours', `${file} is no SQLite database: give the file that truss made, or a new name`);
      return as('log_corrupt', `${file} is damaged: restore it from a copy`);
    case SQLITE.cannotOpen:
    case SQLITE.perm:
    case SQLITE.auth:
      // The database is open for reading then, and the files that writing needs beside it cannot be made.
      if (doing === 'write') return readOnly();
      return as('log_unreadable', `${file} cannot be opened: check that its folder exists and that you may use both`);
    default:
      return error;
  }
}
