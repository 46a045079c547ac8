import { Point } from '@noble/ed25519';
import { toHex } from '../bytes.js';
import { LedgerError } from '../errors.js';
import { hasSmallOrder, isCanonicalY } from './profile.js';

/** Raw keys whose admission is remembered: more than any trust store has, and small. */
const REMEMBERED_KEYS = 256;
const remembered = new Map<string, AdmittedKey>();

/** A public key that passed admission. Only {@link admitPublicKey} makes one, and its bytes cannot change afterwards. */
export class AdmittedKey {
  readonly #bytes: Uint8Array;

  /** @throws LedgerError `key_rejected` */
  constructor(publicKey: Uint8Array) {
    assertAdmissible(publicKey);
    this.#bytes = Uint8Array.from(publicKey);
  }

  /** A copy of the 32 bytes. */
  get bytes(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }
}

/** A secret key. Its seed shows up in no log line, JSON text or error message. */
export class SigningKey {
  readonly #seed: Uint8Array;

  /** @throws LedgerError `key_rejected` unless the seed has 32 bytes */
  constructor(seed: Uint8Array) {
    if (!(seed instanceof Uint8Array) || seed.length !== 32) throw rejected('Give a seed of 32 random bytes.');
    this.#seed = Uint8Array.from(seed);
  }

  /** The seed itself, for the two implementations. */
  static seedOf(key: SigningKey): Uint8Array {
    return key.#seed;
  }
}

/**
 * Admits a public key under the strict profile: 32 bytes, canonical encoding, a point of the curve, not of small order, torsion-free.
 * The result is remembered, so curve arithmetic runs once a key.
 * @throws LedgerError `key_rejected`
 */
export function admitPublicKey(publicKey: Uint8Array): AdmittedKey {
  const name = publicKey instanceof Uint8Array ? toHex(publicKey) : '';
  const known = remembered.get(name);
  if (known !== undefined) return known;
  const admitted = new AdmittedKey(publicKey);
  if (remembered.size >= REMEMBERED_KEYS) remembered.delete(remembered.keys().next().value ?? '');
  remembered.set(name, admitted);
  return admitted;
}

/** The admitted form of a raw or admitted key; undefined where admission fails. */
export function admittedOrUndefined(key: Uint8Array | AdmittedKey): AdmittedKey | undefined {
  if (key instanceof AdmittedKey) return key;
  try {
    return admitPublicKey(key);
  } catch {
    return undefined;
  }
}

function assertAdmissible(publicKey: Uint8Array): void {
  if (!(publicKey instanceof Uint8Array) || publicKey.length !== 32) throw rejected('Give a public key of 32 bytes.');
  if (!isCanonicalY(publicKey)) throw rejected('Use a public key whose y coordinate is below p.');
  if (hasSmallOrder(publicKey)) throw rejected('Use a public key that is not of small order.');
  let point: Point;
  try {
    point = Point.fromBytes(publicKey);
  } catch (cause) {
    throw rejected('Use a public key that is a point of the curve.', cause);
  }
  if (!point.isTorsionFree()) throw rejected('Use a public key in the prime-order subgroup.');
}

function rejected(message: string, cause?: unknown): LedgerError {
  return new LedgerError('key_rejected', message, cause === undefined ? undefined : { cause });
}
