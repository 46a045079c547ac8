export type { Action, ActionPorts, RunActions, RunContext } from './actions.js';
export { decideRun, type Step } from './decide.js';
export { createRunActions } from './run-actions.js';
export { limitWithoutRoom } from './worst-case.js';
