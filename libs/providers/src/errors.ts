/**
 * Why a call to a model failed. All of them are faults of the infrastructure or of the set-up, never of the agent.
 * - `provider_key_missing`: the variable of the key is not set; nothing was sent
 * - `provider_unreachable`: no connection, or one that broke
 * - `provider_timeout`: no whole answer in time
 * - `provider_rate_limited` (429), `provider_overloaded` (503, 529), `provider_failed` (other 5xx)
 * - `provider_refused`: the key is not accepted (401, 403), or its quota is used up;
 *   or the port is one that HTTP clients refuse
 * - `provider_bad_request`: any other 4xx
 * - `provider_bad_answer`: an answer that is none: HTML, broken JSON, no choice, too large, a redirect
 * - `provider_gave_up`: a wait would outlast the run's time
 * - `provider_aborted`: the caller's signal
 * - `replay_differs`: the recording has no such call; `replay_unreadable`: it is not a recording
 */
export type ProviderErrorCode =
  | 'provider_key_missing'
  | 'provider_unreachable'
  | 'provider_timeout'
  | 'provider_rate_limited'
  | 'provider_overloaded'
  | 'provider_failed'
  | 'provider_refused'
  | 'provider_bad_request'
  | 'provider_bad_answer'
  | 'provider_gave_up'
  | 'provider_aborted'
  | 'replay_differs'
  | 'replay_unreadable';

type Facts = {
  cause?: unknown;
  /** The HTTP status, where there was one. */
  status?: number | null;
  /** How long the provider asks to wait. */
  retryAfterMs?: number | null;
  /** Whether the provider may have charged for the attempt. */
  maybeCharged?: boolean;
};

const RETRIABLE: readonly ProviderErrorCode[] = [
  'provider_unreachable',
  'provider_timeout',
  'provider_rate_limited',
  'provider_overloaded',
  'provider_failed',
];

/** A call that brought no answer. Message and causes hold no secret: see `redact.ts`. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  readonly maybeCharged: boolean;
  /** Attempts made, this one included; 0: nothing was sent. */
  attempts = 0;
  /** Of these, the ones that the provider may have charged for. */
  unmeasuredAttempts = 0;

  constructor(
    readonly code: ProviderErrorCode,
    message: string,
    { cause, status = null, retryAfterMs = null, maybeCharged = false }: Facts = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.maybeCharged = maybeCharged;
  }

  /** Whether the same call may succeed later. */
  get retriable(): boolean {
    return RETRIABLE.includes(this.code);
  }
}
