/** What a call ends with that got no answer in time. Whether it was done is unknown. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
  readonly code = 'deadline';
  constructor(ms: number) {
    super(`Redis did not answer within ${ms} ms: see that it is up, and that its host is not overloaded`);
  }
}

/** @throws DeadlineError */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(ms)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
