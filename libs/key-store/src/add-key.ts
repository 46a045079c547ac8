import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import {
  fromHex,
  keyId,
  openTrustStore,
  publicKeyFromSeed,
  type Role,
  signAsync,
  type Signer,
  SigningKey,
  toHex,
  type TrustStore,
} from '#lib/ledger';
import { KeyStoreError } from './errors.js';
import { pemOf, seedOf, writeNewKey, writeTrust } from './key-files.js';
import { readTrustStore } from './key-store.js';

export interface NewKey {
  readonly role: Role;
  /** Who holds it. Of a requester: the name that its requests carry. */
  readonly operator: string;
  /** 32 bytes in lower-case hex, where the private key is somebody else's to keep; absent: one is made. */
  readonly publicKey?: string;
  /** Where the private key goes that is made. */
  readonly keyFile: string;
}

/**
 * Adds a key to a trust store: a new one, or one whose private half stays elsewhere. Evaluations that began before know nothing of it.
 * @throws KeyStoreError `keys_in_the_way` where the key file or the key is there already, `keys_broken` for a public key that is none
 */
export function addKey(trustFile: string, { role, operator, publicKey, keyFile }: NewKey): TrustStore['keys'][number] {
  const trust = readTrustStore(trustFile);
  const seed = publicKey === undefined ? randomBytes(32) : null;
  const bytes = seed === null ? publicBytes(publicKey ?? '') : publicKeyFromSeed(seed);
  const hex = toHex(bytes);
  if (trust.keys.some((known) => known.public_key === hex)) {
    throw new KeyStoreError('keys_in_the_way', `the trust store ${trustFile} has this key already: one key, one role`);
  }
  const added = {
    id: keyId(role, bytes),
    role,
    operator,
    public_key: hex,
    status: 'active' as const,
    accepted_heads: [],
  };
  const extended: TrustStore = { ...trust, keys: [...trust.keys, added] };
  try {
    openTrustStore(extended);
  } catch (cause) {
    throw new KeyStoreError('keys_broken', 'this is no public key that can be trusted: give an Ed25519 key', { cause });
  }
  if (seed !== null) writeNewKey(keyFile, pemOf(seed), 'give another name');
  try {
    writeTrust(trustFile, extended);
  } catch (error) {
    if (seed !== null) rmSync(keyFile, { force: true });
    throw error;
  }
  return added;
}

function publicBytes(hex: string): Uint8Array {
  try {
    return fromHex(hex, 32);
  } catch (cause) {
    throw new KeyStoreError('keys_broken', 'a public key is 64 lower-case hex digits', { cause });
  }
}

/**
 * The signer of a requester, whose key need not be trusted here: whoever receives what it signs judges that.
 * @throws KeyStoreError
 */
export function openRequester(file: string): Signer {
  const key = new SigningKey(seedOf(file, 0o037));
  const id = keyId('requester', publicKeyFromSeed(key));
  return { keyId: id, role: 'requester', sign: (message) => signAsync(key, message) };
}
