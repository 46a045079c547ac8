/** SHA-256 of the parts one after another: 32 bytes, or lower-case hex. */
export { sha256, sha256Hex } from '#ledger-crypto';
