import { type EntryHash, fromHex, type KeyRing, openTrustStore, type TrustedKey, type TrustStore } from '#lib/ledger';
import { VerificationError } from './errors.js';

export interface VerifierKey extends TrustedKey {
  readonly publicKey: Uint8Array;
  readonly status: 'active' | 'retired' | 'compromised';
  readonly acceptedHeads: ReadonlySet<string>;
}

/** The verifier's own root of trust. */
export interface KeyTable {
  get(id: string): VerifierKey | undefined;
  /** Says yes to every signature by these keys: for records whose signature was checked elsewhere. */
  readonly checkedElsewhere: KeyRing;
}

/**
 * @throws VerificationError `trust_empty`
 * @throws LedgerError `trust_invalid`, `key_rejected`
 */
export function openKeys(store: TrustStore): KeyTable {
  if (store.keys.length === 0) {
    throw new VerificationError(
      'trust_empty',
      'The trust store has no keys, so nothing can be verified: give the one that belongs to the log.',
    );
  }
  const byId = new Map<string, VerifierKey>();
  const checked = new Map<string, TrustedKey>();
  for (const key of openTrustStore(store).keys) {
    byId.set(key.id, { ...key, publicKey: fromHex(key.public_key), acceptedHeads: new Set(key.accepted_heads) });
    checked.set(key.id, {
      id: key.id,
      role: key.role,
      operator: key.operator,
      verify: () => true,
      verifyAsync: async () => true,
    });
  }
  return { get: (id) => byId.get(id), checkedElsewhere: { get: (id) => checked.get(id) } };
}

/** Whether a key may still sign for an evaluation with this head: an active one may, another only where the trust store lists the head. */
export function isAccepted(key: VerifierKey, head: EntryHash): boolean {
  return key.status === 'active' || key.acceptedHeads.has(head);
}
