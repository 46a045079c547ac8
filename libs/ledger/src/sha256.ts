/** SHA-256 of the parts one after another: 32 bytes. */
export { sha256 } from '#ledger-crypto';
