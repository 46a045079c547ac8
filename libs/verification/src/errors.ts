/** Thrown where there is nothing to verify with; everything else is a finding. */
export class VerificationError extends Error {
  override readonly name = 'VerificationError';

  constructor(
    readonly code: 'trust_empty',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
