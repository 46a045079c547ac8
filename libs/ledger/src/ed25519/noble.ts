import { getPublicKey, hashes, Point, sign as nobleSign } from '@noble/ed25519';
import { sha256 as nobleSha256, sha512 } from '@noble/hashes/sha2.js';
import { concatBytes, equalBytes, toHex } from '../bytes.js';
import { AdmittedKey, admittedOrUndefined, SigningKey } from './keys.js';
import { isWellFormedSignature } from './profile.js';

export { AdmittedKey, admitPublicKey, SigningKey } from './keys.js';

hashes.sha512 = sha512;

const ORDER = Point.CURVE().n;

/** SHA-256 of the parts one after another: 32 bytes. */
export function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  return nobleSha256(concatBytes(...parts));
}

/** As {@link sha256}, in lower-case hex. */
export function sha256Hex(...parts: readonly Uint8Array[]): string {
  return toHex(sha256(...parts));
}

/**
 * Whether an Ed25519 signature holds under the strict profile. Never throws: what is malformed is not a signature.
 *
 * The equation enc([S]B - [k]A) == R is written out, because the verify of @noble/ed25519 multiplies by the cofactor even with
 * `zip215: false` and so accepts signatures that OpenSSL refuses.
 */
export function verifySignature(key: Uint8Array | AdmittedKey, message: Uint8Array, signature: Uint8Array): boolean {
  const admitted = admittedOrUndefined(key);
  if (admitted === undefined || !isWellFormedSignature(signature)) return false;
  const encodedA = admitted.bytes;
  const encodedR = signature.subarray(0, 32);
  const scalarS = littleEndian(signature.subarray(32));
  const scalarK = littleEndian(sha512(concatBytes(encodedR, encodedA, message))) % ORDER;
  const pointA = Point.fromBytes(encodedA);
  const expected = Point.BASE.multiply(scalarS, false).subtract(pointA.multiply(scalarK, false));
  return equalBytes(expected.toBytes(), encodedR);
}

/** As {@link verifySignature}; here for the same surface as the native implementation. */
export async function verifySignatureAsync(
  key: Uint8Array | AdmittedKey,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  return verifySignature(key, message, signature);
}

/** The 64-byte signature (RFC 8032) of a message. @throws LedgerError `key_rejected` on a seed that has not 32 bytes */
export function sign(key: Uint8Array | SigningKey, message: Uint8Array): Uint8Array {
  return nobleSign(message, seedOf(key));
}

/** As {@link sign}; here for the same surface as the native implementation. */
export async function signAsync(key: Uint8Array | SigningKey, message: Uint8Array): Promise<Uint8Array> {
  return sign(key, message);
}

/** The public key of a 32-byte seed. @throws LedgerError `key_rejected` on another length */
export function publicKeyFromSeed(key: Uint8Array | SigningKey): Uint8Array {
  return getPublicKey(seedOf(key));
}

function seedOf(key: Uint8Array | SigningKey): Uint8Array {
  return SigningKey.seedOf(key instanceof SigningKey ? key : new SigningKey(key));
}

function littleEndian(bytes: Uint8Array): bigint {
  let value = 0n;
  for (let index = bytes.length - 1; index >= 0; index--) value = (value << 8n) | BigInt(bytes[index] ?? 0);
  return value;
}
