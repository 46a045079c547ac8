export { type Clock, systemClock } from './clock.js';
export { ProviderError, type ProviderErrorCode } from './errors.js';
export { type GateLimits, Gates } from './gate.js';
export type { LiveDeps } from './live.js';
export { type ModelSetting, openModel } from './open.js';
export type {
  CallOptions,
  ModelAnswer,
  ModelMessage,
  ModelPort,
  ModelRequest,
  ModelTool,
  ModelUsage,
  ToolCall,
} from './port.js';
export { type Pricing, priceOf, pricingOf, worstCase } from './pricing.js';
export { inputTokensUpperBound, requestDigest } from './request-digest.js';
export { defaultPolicy, type RetryPolicy } from './retry.js';
