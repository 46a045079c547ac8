export { readContract } from './contract.js';
export { ArchiveError, type ArchiveErrorCode } from './errors.js';
export { type ArchiveRef, type ArchiveSources, fetchArchive } from './fetch.js';
export type { ArchiveLimits } from './limits.js';
export { packContract, type PackedContract } from './pack.js';
export { type ContractStoreOptions, createContractStore } from './store.js';
