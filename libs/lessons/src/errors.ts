export type LessonErrorCode = 'offer_rule_unknown' | 'lesson_not_in_chain' | 'bundle_malformed' | 'bundle_too_large';

/** Thrown by every function of this library that refuses its input. The `code` is stable, the message says what to do. */
export class LessonError extends Error {
  override readonly name = 'LessonError';

  constructor(
    readonly code: LessonErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
