export type { Limits } from './context.js';
export { VerificationError } from './errors.js';
export type { VerifierKey } from './key-table.js';
export type { PositionedRecord, SignatureCheck, VerifySignatures } from './read-records.js';
export {
  type Checked,
  type Finding,
  FINDING_CODES,
  type FindingCode,
  type Met,
  type Severity,
  type Verification,
  type VerificationResult,
} from './result.js';
export { verifyEvaluation, type VerifyInput } from './verify-evaluation.js';
