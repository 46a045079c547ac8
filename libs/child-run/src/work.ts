import type { ActionPorts, RunContext } from './actions.js';
import { type ChangeLimits, changeLimits } from './changes.js';
import { type TailLimits, tailLimits } from './event-tail.js';
import type { Scratch } from './scratch.js';
import type { Redact } from './secrets.js';

/** Bounds of this executor, beside the contract's budget. */
export interface RunLimits {
  /** Of a workspace's changes: beyond them they cannot be recorded, so the run cannot be judged. */
  readonly changes: ChangeLimits;
  /** Of an agent's event file: beyond them the agent is stopped. */
  readonly events: TailLimits;
  /** How long a reviewer may take before it abstains, in milliseconds. */
  readonly reviewMs: number;
  /** How long a call to a model may take that is not the agent's own, its waits and retries included, in milliseconds. */
  readonly callMs: number;
  /** How long a command that a model runs may take, in milliseconds. */
  readonly toolMs: number;
}
export const runLimits: RunLimits = {
  changes: changeLimits,
  events: tailLimits,
  reviewMs: 60_000,
  callMs: 600_000,
  toolMs: 120_000,
};

/** What every effect of one run works with. */
export interface Work {
  readonly run: RunContext;
  readonly ports: ActionPorts;
  readonly scratch: Scratch;
  readonly limits: RunLimits;
  readonly redact: Redact;
}
