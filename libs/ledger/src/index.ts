export * from './bodies.js';
export * from './bytes.js';
export * from './dsse.js';
export * from './entry.js';
export * from './envelope.js';
export * from './errors.js';
export * from './ids.js';
export * from './jcs.js';
export * from './live-chain.js';
export * from './merkle.js';
export * from './open-entry.js';
export * from './roles.js';
export * from './sha256.js';
export * from './sign-entry.js';
export * from './trust-store.js';
export * from './usage.js';
export { isWellFormedSignature } from './ed25519/profile.js';
export {
  AdmittedKey,
  admitPublicKey,
  publicKeyFromSeed,
  SigningKey,
  sign,
  signAsync,
  verifySignature,
  verifySignatureAsync,
} from '#ledger-crypto';
