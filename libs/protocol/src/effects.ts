import type { ChildRunId, Draft, EvalRunId, LedgerId } from '#lib/ledger';
import type { AppendAnswer } from '#lib/event-log';

/** What a core is told. It is told of every change of the log; what changed it reads in the view. */
export type CoreEvent<Result = never> =
  /** The view grew, a timer went off, or something else may have changed. */
  | { readonly kind: 'changed' }
  /** The `read_to_end` that the core asked for is done: the view holds all that stood in the log when it asked. */
  | { readonly kind: 'caught_up' }
  | { readonly kind: 'answered'; readonly answer: AppendAnswer }
  | { readonly kind: 'leased'; readonly granted: boolean }
  | Result;

/** What a core wants done. Nothing of it happens inside a core. */
export type CoreEffect<Action = never> =
  | { readonly kind: 'read_to_end'; readonly eval: EvalRunId }
  /** Sign the drafts for the live head, in this session, and append them; answered by one `answered`. */
  | { readonly kind: 'write'; readonly ledger: LedgerId; readonly session: string; readonly drafts: readonly Draft[] }
  | { readonly kind: 'send'; readonly child: ChildRunId }
  | { readonly kind: 'lease'; readonly child: ChildRunId }
  | { readonly kind: 'release'; readonly child: ChildRunId }
  /** Be told `changed` at this time. One timer a core is enough: whoever is woken too early asks again. */
  | { readonly kind: 'wake'; readonly at: number }
  /** The record that brought this work is finished: its offset may be committed. */
  | { readonly kind: 'finished' }
  | Action;

/** Time, chance and identity, which a core never takes for itself. */
export interface CoreEnv {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** 128 random bits as 32 hex digits. */
  random128(): string;
  /** A whole number in [0, bound). */
  below(bound: number): number;
}
