/** Why a request is refused. Stable: programs read them in `eval.dead-letter`. */
export type RequestErrorCode =
  | 'bad_request'
  | 'bad_id'
  | 'not_found'
  | 'signature_needed'
  | 'signature_invalid'
  | 'signature_expired'
  | 'key_not_accepted'
  | 'audience_mismatch'
  | 'requester_mismatch'
  | 'contract_not_registered'
  | 'contract_unsupported'
  | 'lesson_unverified'
  | 'repeats_missing'
  | 'cases_too_few'
  | 'plan_too_large'
  | 'price_unknown'
  | 'budget_too_small'
  | 'deadline_too_long'
  | 'quota_open'
  | 'quota_spend';

/** A request that cannot be accepted; the message is one sentence that says what to do. */
export class RequestError extends Error {
  override readonly name = 'RequestError';

  constructor(
    readonly code: RequestErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
