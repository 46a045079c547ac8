import { createPrivateKey, createPublicKey, hash, type KeyObject, sign as nativeSign, verify } from 'node:crypto';
import { concatBytes, fromHex } from '../bytes.js';
import { AdmittedKey, admittedOrUndefined, SigningKey } from './keys.js';
import { isWellFormedSignature } from './profile.js';

export { AdmittedKey, admitPublicKey, SigningKey } from './keys.js';

/** DER of RFC 8410 up to the 32 key bytes: SubjectPublicKeyInfo and PKCS #8. */
const SPKI_PREFIX = fromHex('302a300506032b6570032100');
const PKCS8_PREFIX = fromHex('302e020100300506032b657004220420');

const publicKeys = new WeakMap<AdmittedKey, KeyObject>();
const privateKeys = new WeakMap<SigningKey, KeyObject>();

/** SHA-256 of the parts one after another: 32 bytes. */
export function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  // By way of a text: as a Buffer each digest would be memory outside the heap, which takes twice the time.
  const text = digestOf(parts, 'binary');
  const digest = new Uint8Array(32);
  for (let index = 0; index < 32; index++) digest[index] = text.charCodeAt(index);
  return digest;
}

/** As {@link sha256}, in lower-case hex. */
export function sha256Hex(...parts: readonly Uint8Array[]): string {
  return digestOf(parts, 'hex');
}

function digestOf(parts: readonly Uint8Array[], encoding: 'binary' | 'hex'): string {
  const [first] = parts;
  return hash('sha256', parts.length === 1 && first !== undefined ? first : joined(parts), encoding);
}

const scratch = new Uint8Array(4096);

// One buffer for all short inputs: most are an entry or two hashes, and the copy is gone as soon as it is hashed.
function joined(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  if (length > scratch.length) return concatBytes(...parts);
  let offset = 0;
  for (const part of parts) {
    scratch.set(part, offset);
    offset += part.length;
  }
  return scratch.subarray(0, length);
}

/**
 * Whether an Ed25519 signature holds under the strict profile. Never throws: what is malformed is not a signature.
 *
 * OpenSSL compares enc([S]B - [k]A) with R byte for byte, without the cofactor; the rest of the profile is checked here.
 */
export function verifySignature(key: Uint8Array | AdmittedKey, message: Uint8Array, signature: Uint8Array): boolean {
  const admitted = admittedOrUndefined(key);
  if (admitted === undefined || !isWellFormedSignature(signature)) return false;
  return verify(null, message, publicKeyObject(admitted), signature);
}

/** As {@link verifySignature}, on a thread of the pool. */
export async function verifySignatureAsync(
  key: Uint8Array | AdmittedKey,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const admitted = admittedOrUndefined(key);
  if (admitted === undefined || !isWellFormedSignature(signature)) return false;
  return new Promise((resolve, reject) => {
    verify(null, message, publicKeyObject(admitted), signature, (error, holds) =>
      error === null ? resolve(holds) : reject(error),
    );
  });
}

/** The 64-byte signature (RFC 8032) of a message. @throws LedgerError `key_rejected` on a seed that has not 32 bytes */
export function sign(key: Uint8Array | SigningKey, message: Uint8Array): Uint8Array {
  return plain(nativeSign(null, message, privateKeyObject(key)));
}

/** As {@link sign}, on a thread of the pool. */
export async function signAsync(key: Uint8Array | SigningKey, message: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    nativeSign(null, message, privateKeyObject(key), (error, signature) =>
      error === null ? resolve(plain(signature)) : reject(error),
    );
  });
}

/** The public key of a 32-byte seed. @throws LedgerError `key_rejected` on another length */
export function publicKeyFromSeed(key: Uint8Array | SigningKey): Uint8Array {
  const der = createPublicKey(privateKeyObject(key)).export({ format: 'der', type: 'spki' });
  return Uint8Array.from(der.subarray(SPKI_PREFIX.length));
}

function publicKeyObject(admitted: AdmittedKey): KeyObject {
  const known = publicKeys.get(admitted);
  if (known !== undefined) return known;
  const der = Buffer.from(concatBytes(SPKI_PREFIX, admitted.bytes));
  const made = createPublicKey({ key: der, format: 'der', type: 'spki' });
  publicKeys.set(admitted, made);
  return made;
}

function privateKeyObject(key: Uint8Array | SigningKey): KeyObject {
  const signingKey = key instanceof SigningKey ? key : new SigningKey(key);
  const known = privateKeys.get(signingKey);
  if (known !== undefined) return known;
  const der = Buffer.from(concatBytes(PKCS8_PREFIX, SigningKey.seedOf(signingKey)));
  const made = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  privateKeys.set(signingKey, made);
  return made;
}

/** The same bytes without the methods of Buffer, whose slice() shares memory where Uint8Array's copies. */
function plain(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
}
