import type { ActionPorts, RunContext } from './actions.js';
import type { Scratch } from './scratch.js';

/** What every effect of one run works with. */
export interface Work {
  readonly run: RunContext;
  readonly ports: ActionPorts;
  readonly scratch: Scratch;
}
