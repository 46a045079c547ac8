import type { Draft } from '#lib/ledger';

/** What broke around a run, and is nobody's answer: recorded as `infrastructure_failed`, never booked as a fail. */
export class RunFault extends Error {
  override readonly name = 'RunFault';

  /** `message` says what to do, and names no path of this machine. */
  constructor(
    readonly where: 'agent' | 'workspace' | 'contract',
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

/** Any error as a fault: the system's code of it, without the paths in its message. */
export function faultOf(cause: unknown, where: RunFault['where']): RunFault {
  if (cause instanceof RunFault) return cause;
  const code = cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : 'unexpected';
  const what = cause instanceof Error && code === 'unexpected' ? cause.name : code;
  return new RunFault(
    where,
    code,
    `the ${where} cannot be used here (${what}): see to this machine, then run it again`,
    { cause },
  );
}
