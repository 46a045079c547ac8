/** The pure part of a child run, `#lib/child-run/core`: what comes next, and what an effect is. Pure libs may import it. */
export type { Action, ActionPorts, RunActions, RunContext } from './actions.js';
export { decideRun, reviewResult, type Step } from './decide.js';
