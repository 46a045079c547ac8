import { type EntryHash, fromHex, openTrustStore, type TrustedKey, type TrustStore } from '#lib/ledger';
import { VerificationError } from './errors.js';

export interface VerifierKey extends TrustedKey {
  readonly publicKey: Uint8Array;
  readonly status: 'active' | 'retired' | 'compromised';
  readonly acceptedHeads: ReadonlySet<string>;
}

/** The verifier's own root of trust. */
export interface KeyTable {
  get(id: string): VerifierKey | undefined;
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
  for (const key of openTrustStore(store).keys) {
    byId.set(key.id, { ...key, publicKey: fromHex(key.public_key), acceptedHeads: new Set(key.accepted_heads) });
  }
  return { get: (id) => byId.get(id) };
}

/** Whether a key may still sign for an evaluation with this head: an active one may, another only where the trust store lists the head. */
export function isAccepted(key: VerifierKey, head: EntryHash): boolean {
  return key.status === 'active' || key.acceptedHeads.has(head);
}
