import { LogError } from '../port.js';

interface ClientError extends Error {
  readonly retriable?: boolean;
  /** The protocol's name of the error, such as `TOPIC_AUTHORIZATION_FAILED`. */
  readonly type?: string;
}

/** The error at the bottom of what kafkajs wrapped. */
export function rootOf(error: unknown): ClientError {
  let root = error instanceof Error ? error : new Error(String(error));
  while (root.cause instanceof Error) root = root.cause;
  return root;
}

export function protocolCode(error: unknown): string {
  return rootOf(error).type ?? '';
}

/** Whether the same call may succeed when it is made again, with nothing changed. */
export function isPassing(error: unknown): boolean {
  const named = error instanceof Error && error.name === 'KafkaJSNumberOfRetriesExceeded';
  return named || rootOf(error).retriable === true;
}

/** What a permanent refusal by the brokers is to the callers of the log. */
export function asLogError(error: unknown, doing: string): LogError {
  if (error instanceof LogError) return error;
  const root = rootOf(error);
  const { type = '' } = root;
  if (type.endsWith('AUTHORIZATION_FAILED')) {
    return new LogError(
      'log_read_only',
      `the brokers refuse this principal to ${doing} (${type}): give it the rights that docs/operations.md lists`,
      { cause: error },
    );
  }
  if (type === 'UNKNOWN_TOPIC_OR_PARTITION' || type === 'INVALID_TOPIC_EXCEPTION') {
    return new LogError('log_missing', `the cluster has no such topic to ${doing}: run truss deploy topics`, {
      cause: error,
    });
  }
  if (type === 'MESSAGE_TOO_LARGE' || type === 'RECORD_LIST_TOO_LARGE') {
    return new LogError('log_full', `a record is larger than its topic takes: ${doing} failed`, { cause: error });
  }
  // What kafkajs makes of every refusal of a group, also of one for want of a right.
  if (root.name === 'KafkaJSGroupCoordinatorNotFound') {
    return new LogError(
      'log_unreadable',
      `the cluster could not ${doing}: it names no coordinator of the group. Unless it is just starting, give this principal the rights on groups that docs/operations.md lists`,
      { cause: error, retryable: true },
    );
  }
  if (root.name === 'KafkaJSSASLAuthenticationError') {
    return new LogError('log_unreadable', `the brokers refuse the credentials: ${root.message}`, { cause: error });
  }
  return new LogError('log_unreadable', `the cluster could not ${doing}: ${root.message}`, {
    cause: error,
    retryable: isPassing(error),
  });
}
