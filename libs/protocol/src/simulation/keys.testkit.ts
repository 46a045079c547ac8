import { keyId, type KeyId, type KeyRing, type Role, sha256, type TrustedKey, utf8 } from '#lib/ledger';

/** A key whose signatures cost one hash: the simulation asks who wrote an entry, not whether Ed25519 holds. */
export interface SimulatedKey extends TrustedKey {
  readonly name: string;
  sign(message: Uint8Array): Uint8Array;
}

export function simulatedKey(role: Role, name: string): SimulatedKey {
  const secret = sha256(utf8(`simulated key ${role} ${name}`));
  const sign = (message: Uint8Array): Uint8Array => {
    const half = sha256(secret, message);
    const signature = new Uint8Array(64);
    signature.set(half);
    signature.set(half, 32);
    return signature;
  };
  const verify = (message: Uint8Array, signature: Uint8Array): boolean => Buffer.compare(sign(message), signature) === 0;
  return { id: keyId(role, secret), role, operator: 'simulation', name, sign, verify, verifyAsync: async (m, s) => verify(m, s) };
}

export function ringOf(keys: readonly SimulatedKey[]): KeyRing {
  const byId = new Map<string, SimulatedKey>(keys.map((key) => [key.id, key]));
  return { get: (id) => byId.get(id) };
}

export function nameOfKey(keys: readonly SimulatedKey[], id: KeyId): string {
  return keys.find((key) => key.id === id)?.name ?? id.slice(0, 6);
}
