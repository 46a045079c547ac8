export { checkTravels } from './contracts.js';
export { directRequests } from './direct.js';
export { RequestError, type RequestErrorCode } from './errors.js';
export { checkBudget, type Planned, planOfRequest, type Wanted } from './plan.js';
export { quotaDefaults, type QuotaLimits } from './quotas.js';
export { type Registration, registrationKey, signRegistration } from './registration.js';
export { listRegistrations } from './registry.js';
export { requesterKeys, type TrustedKeys } from './requester-keys.js';
export { type OutsideOptions, outsideRequests } from './resolver.js';
export {
  MAX_INLINE_ARCHIVE,
  MAX_TOML,
  type OutsideRequest,
  type RequestedArchive,
} from './shape.js';
export { signCancel, signRequest } from './sign.js';
