import {
  keyId,
  type KeyId,
  publicKeyFromSeed,
  type Role,
  sha256,
  sha256Hex,
  toHex,
  type TrustStore,
  trustStoreBytes,
  utf8,
} from '#lib/ledger';

/** A real key whose signatures cost one hash: the simulation asks who wrote an entry, not whether Ed25519 holds. */
export interface SimulatedKey {
  readonly id: KeyId;
  readonly role: Role;
  readonly name: string;
  readonly publicKey: Uint8Array;
  sign(message: Uint8Array): Uint8Array;
}

export function simulatedKey(role: Role, name: string): SimulatedKey {
  const secret = sha256(utf8(`simulated key ${role} ${name}`));
  const publicKey = publicKeyFromSeed(secret);
  const sign = (message: Uint8Array): Uint8Array => {
    const half = sha256(secret, message);
    const signature = new Uint8Array(64);
    signature.set(half);
    signature.set(half, 32);
    return signature;
  };
  return { id: keyId(role, publicKey), role, name, publicKey, sign };
}

/** The processes' keys: a process keeps its own through every restart. */
export const KEYS = {
  coordinators: [1, 2, 3].map((no) => simulatedKey('coordinator', `c${no}`)),
  executors: [1, 2, 3].map((no) => simulatedKey('executor', `x${no}`)),
  projectors: [1, 2].map((no) => simulatedKey('projector', `p${no}`)),
};
const ALL = Object.values(KEYS).flat();

export const STORE: TrustStore = {
  version: 1,
  keys: ALL.map(({ id, role, name, publicKey }) => ({
    id,
    role,
    operator: name,
    public_key: toHex(publicKey),
    status: 'active',
    accepted_heads: [],
  })),
};
export const STORE_BYTES = trustStoreBytes(STORE);
export const STORE_REF = { sha256: sha256Hex(STORE_BYTES), size: STORE_BYTES.length };

/** Checks a simulated signature as a verifier would a real one. */
export function holds(id: string, message: Uint8Array, signature: Uint8Array): boolean {
  const key = ALL.find((known) => known.id === id);
  return key !== undefined && Buffer.compare(key.sign(message), signature) === 0;
}
