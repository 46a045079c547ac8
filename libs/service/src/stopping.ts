import type { Logger } from 'pino';

export interface StoppingOptions {
  /** Stops intake, finishes or hands back the work, flushes and closes, in this order. Called once. */
  readonly stop: () => Promise<void>;
  /** Told first, before anything stops. */
  readonly began: (fault: unknown) => void;
  readonly logger: Logger;
  /** How long `stop` may take. */
  readonly deadlineMs: number;
  /** Ends the process; for tests a function of theirs. */
  readonly exit: (code: number) => void;
  /** Where signals come from. */
  readonly signals: Pick<NodeJS.EventEmitter, 'on' | 'off'>;
}

export interface Stopping {
  /** An error from which the process cannot go on: what runs elsewhere goes on, and a supervisor starts this one again. */
  fatal(error: unknown): void;
  /** Resolves with the exit code when everything is closed. */
  readonly ended: Promise<number>;
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * The one way in which a process stops: at the first SIGTERM or SIGINT with exit code 0, at a fatal error with 1, both in order and within the
 * deadline. A second signal ends it at once; so does a deadline that passes, with 1: what was not written then is done by others, from the ledger.
 */
export function stopInOrder({ stop, began, logger, deadlineMs, exit, signals }: StoppingOptions): Stopping {
  const { promise: ended, resolve } = Promise.withResolvers<number>();
  let stopping = false;
  const begin = (code: number, fault: unknown): void => {
    stopping = true;
    began(fault);
    const alarm = setTimeout(() => {
      logger.error({ deadlineMs }, 'did not stop in time: ending now');
      exit(1);
    }, deadlineMs);
    stop().then(
      () => {
        clearTimeout(alarm);
        for (const signal of SIGNALS) signals.off(signal, onSignal);
        logger.info({ code }, 'stopped');
        resolve(code);
      },
      (error: unknown) => {
        logger.error({ err: error }, 'stopping failed');
        exit(1);
      },
    );
  };
  const onSignal = (signal: string): void => {
    if (stopping) {
      logger.warn({ signal }, 'second signal: ending now');
      return exit(1);
    }
    logger.info({ signal }, 'stopping');
    begin(0, null);
  };
  for (const signal of SIGNALS) signals.on(signal, onSignal);
  return {
    ended,
    fatal(error) {
      if (stopping) {
        logger.warn({ err: error }, 'error while stopping');
        return;
      }
      logger.fatal({ err: error }, 'cannot go on');
      begin(1, error);
    },
  };
}
