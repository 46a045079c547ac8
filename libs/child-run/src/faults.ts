import type { Draft } from '#lib/ledger';

/** What broke around a run, and is nobody's answer: recorded as `infrastructure_failed`, never booked as a fail. */
export class RunFault extends Error {
  override readonly name = 'RunFault';

  /** `message` says what to do, and names no path of this machine. */
  constructor(
    /** `answer`: after the agent ran, in recording what it left. Any other place is before it was started. */
    readonly where: 'agent' | 'workspace' | 'contract' | 'answer',
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  draft(): Draft {
    return { type: 'infrastructure_failed', body: { where: this.where, code: this.code, message: this.message } };
  }
}

/**
 * What no entry can record: the disk is full, or the log does not answer. The run stops where it is and can be resumed.
 * `message` says what to do.
 */
export class CannotGoOn extends Error {
  override readonly name = 'CannotGoOn';

  constructor(
    readonly code: 'disk_full' | 'log_failed',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const NO_SPACE: readonly string[] = ['ENOSPC', 'EDQUOT'];

/**
 * Any error as a fault: the system's code of it, without the paths in its message.
 * @throws CannotGoOn where the disk is full or the log failed
 */
export function faultOf(cause: unknown, where: RunFault['where']): RunFault {
  if (cause instanceof RunFault) return cause;
  if (cause instanceof CannotGoOn) throw cause;
  const code = cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : 'unexpected';
  if (NO_SPACE.includes(code)) {
    throw new CannotGoOn('disk_full', 'no space is left in the temporary folder: free some, then resume', { cause });
  }
  const what = cause instanceof Error && code === 'unexpected' ? cause.name : code;
  const message = `the ${where} cannot be used here (${what}): see to this machine, then run it again`;
  return new RunFault(where, code, message, { cause });
}
