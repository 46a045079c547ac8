import { z } from 'zod';
import { admitPublicKey, verifySignature, verifySignatureAsync } from '#ledger-crypto';
import { utf8 } from './bytes.js';
import { type KeyRing, keyId, publicKeyBytes, type TrustedKey } from './entry.js';
import { LedgerError } from './errors.js';
import { HASH } from './ids.js';
import { canonicalJson } from './jcs.js';
import { sha256Hex } from './sha256.js';

const keySchema = z.strictObject({
  id: z.string().regex(HASH),
  role: z.enum(['coordinator', 'executor', 'projector', 'requester']),
  operator: z.string().min(1),
  /** 32 bytes, lower-case hex. */
  public_key: z.string().regex(HASH),
  status: z.enum(['active', 'retired', 'compromised']),
  /** Evaluation heads (entry hashes) still accepted from a key that is no longer active. */
  accepted_heads: z.array(z.string().regex(HASH)),
});
export type KeyRecord = z.infer<typeof keySchema>;

export const trustStoreSchema = z.strictObject({ version: z.literal(1), keys: z.array(keySchema) });
export type TrustStore = z.infer<typeof trustStoreSchema>;

/** The bytes that `eval_started` pins by their SHA-256. */
export function trustStoreBytes(store: TrustStore): Uint8Array {
  return utf8(canonicalJson(store));
}

export function trustStoreDigest(store: TrustStore): string {
  return sha256Hex(trustStoreBytes(store));
}

/**
 * The keys of a trust store, each admitted once. Ids are recomputed: one that does not fit its key, or a key that stands twice, is refused.
 * @throws LedgerError `trust_invalid`, `key_rejected`
 */
export function openTrustStore(store: TrustStore): KeyRing & { readonly keys: readonly (TrustedKey & KeyRecord)[] } {
  const byId = new Map<string, TrustedKey & KeyRecord>();
  const publicKeys = new Set<string>();
  for (const record of store.keys) {
    const bytes = publicKeyBytes(record.public_key);
    const id = keyId(record.role, bytes);
    if (id !== record.id)
      throw new LedgerError('trust_invalid', `key ${record.id} of the trust store has the id ${id}: write it again`);
    if (publicKeys.has(record.public_key))
      throw new LedgerError('trust_invalid', `one key, one role: ${record.public_key} stands twice in the trust store`);
    publicKeys.add(record.public_key);
    const admitted = admitPublicKey(bytes);
    byId.set(id, {
      ...record,
      id,
      verify: (message, signature) => verifySignature(admitted, message, signature),
      verifyAsync: (message, signature) => verifySignatureAsync(admitted, message, signature),
    });
  }
  return { get: (id) => byId.get(id), keys: [...byId.values()] };
}
