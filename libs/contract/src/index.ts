export { type ContractErrorCode } from './errors.js';
export { loadContract } from './load.js';
export { type Match, matchText } from './match.js';
export { resolveArgv } from './programs.js';
export { budgetProblem, providersInUse, unsupportedReason } from './supported.js';
export { renderCase } from './template.js';
export {
  type Agent,
  type Budget,
  type Case,
  type Contract,
  type Criterion,
  contractSchema,
  type Evaluation,
  type Learning,
  type LoadedContract,
  type MatchCriterion,
  type Panel,
  type Program,
  type Provider,
  type RenderedCase,
  type Reviewer,
  type Workspace,
  type WorkspaceFile,
} from './types.js';
export {
  isProtected,
  snapshotWorkspace,
  type WorkspaceErrorCode,
  type WorkspaceLimits,
  workspaceDigest,
} from './workspace.js';
