export type { Action, ActionPorts, RunActions, RunContext } from './actions.js';
export { decideRun, reviewResult, type Step } from './decide.js';
export { CannotGoOn } from './faults.js';
export { createRunActions } from './run-actions.js';
export { limitWithoutRoom } from './worst-case.js';
