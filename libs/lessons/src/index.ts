export { LessonError, type LessonErrorCode } from './errors.js';
export { type HeldLesson, lessonDigest, lowestTrust, type Trust } from './lesson.js';
export { type AnchoredLessons, OFFER_RULE, type OfferInput, offerLessons } from './offer.js';
export {
  type Gate,
  decidePromotion,
  type GateCheck,
  type GateEvidence,
  type GateVote,
  type PromotionDecision,
  recallPolicy,
} from './gates.js';
export { lessonAlias, quotedJson, type RenderedLayer, type RenderedLesson, renderLayer } from './render.js';
export {
  type AgentLesson,
  type ExemplarInput,
  exemplarLesson,
  labelledBy,
  lessonsFromAgent,
  lessonsFromModel,
  MAX_LESSONS_PER_RUN,
  type Provenance,
} from './extract.js';
export { CHECKS, type CheckName } from './check-names.js';
export { type CheckContext, type CheckResult, runChecks, verdictGate } from './checks.js';
export type { CaseAnswers } from './overlap.js';
export { buildLessonProof, type LessonProof } from './proof.js';
export type { ProofFault, ProofPolicy } from './promotion-proof.js';
export { type ProofResult, verifyLessonProof } from './verify-proof.js';
export { ProofKeeper } from './keeper.js';
export { formatBundle, parseBundle, readProof } from './bundle.js';
export { type LessonCount, LessonCounters } from './counters.js';
