/** The strict profile without native code, for browsers and as the cross-check of the fast path: `truss-eval/ledger/noble`. */
export {
  AdmittedKey,
  admitPublicKey,
  publicKeyFromSeed,
  SigningKey,
  sha256,
  sign,
  verifySignature,
} from './ed25519/noble.js';
