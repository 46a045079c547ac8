import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import {
  keyId,
  openTrustStore,
  publicKeyFromSeed,
  signAsync,
  type Signer,
  SigningKey,
  toHex,
  type TrustStore,
  trustStoreSchema,
} from '#lib/ledger';
import { KeyStoreError } from './errors.js';
import { pemOf, seedOf, syncFolder, writeNewKey, writeTrust } from './key-files.js';

/** The roles of which one process of the embedded mode holds all keys. */
export const SERVICE_ROLES = ['coordinator', 'executor', 'projector'] as const;
export type ServiceRole = (typeof SERVICE_ROLES)[number];

export interface KeyStore {
  readonly trust: TrustStore;
  readonly signers: Readonly<Record<ServiceRole, Signer>>;
}

export function trustFile(folder: string): string {
  return join(folder, 'trust.json');
}

function keyFile(folder: string, role: ServiceRole): string {
  return join(folder, `${role}.key`);
}

/** @throws KeyStoreError `trust_broken`, `keys_missing` */
export function readTrustStore(file: string): TrustStore {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new KeyStoreError('keys_missing', `there is no trust store at ${file}: \`truss keys init\` makes one`, {
      cause,
    });
  }
  try {
    const trust = trustStoreSchema.parse(JSON.parse(text));
    openTrustStore(trust);
    return trust;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new KeyStoreError('trust_broken', `the trust store ${file} cannot be used: ${why}`, { cause });
  }
}

/**
 * The keys of a folder, made on first use: one private key a role (PKCS#8 PEM, mode 0600) beside `trust.json`, which holds the public ones.
 * @throws KeyStoreError
 */
export function openKeyStore(folder: string, operator: string): KeyStore {
  if (!existsSync(trustFile(folder))) createKeys(folder, operator);
  const trust = readTrustStore(trustFile(folder));
  const load = (role: ServiceRole) => loadSigner(folder, role, trust);
  return {
    trust,
    signers: { coordinator: load('coordinator'), executor: load('executor'), projector: load('projector') },
  };
}

/**
 * Makes the keys of all service roles, and has them on the disk before anything is signed. The trust store comes last and whole. A failure
 * leaves nothing of them behind.
 * @throws KeyStoreError `keys_in_the_way` where there are private keys already: they may have signed something
 */
export function createKeys(folder: string, operator: string): TrustStore {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const made: string[] = [];
  try {
    const keys = SERVICE_ROLES.map((role) => {
      const seed = randomBytes(32);
      const file = keyFile(folder, role);
      writeNewKey(
        file,
        pemOf(seed),
        'put trust.json back beside it, or, if nothing was signed with it, move the .key files away',
      );
      made.push(file);
      const publicKey = publicKeyFromSeed(seed);
      return {
        id: keyId(role, publicKey),
        role: role,
        operator,
        public_key: toHex(publicKey),
        status: 'active' as const,
        accepted_heads: [],
      };
    });
    const trust: TrustStore = { version: 1, keys };
    writeTrust(trustFile(folder), trust);
    made.push(trustFile(folder));
    syncFolder(dirname(resolve(folder)));
    return trust;
  } catch (error) {
    for (const file of made) rmSync(file, { force: true });
    throw error;
  }
}

function loadSigner(folder: string, role: ServiceRole, trust: TrustStore): Signer {
  return signerOf(keyFile(folder, role), role, trust, OTHERS);
}

// Permissions that a private key's file may not give: in a folder of one's own, and where an orchestrator mounts it for a group.
const OTHERS = 0o077;
const OTHERS_THAN_THE_GROUP = 0o037;

/**
 * The signer of one role, from a key file by itself, as services are given theirs. Its group may read it: that is how secrets are mounted for
 * a process that is not root.
 * @throws KeyStoreError
 */
export function openSigner(file: string, role: ServiceRole, trust: TrustStore): Signer {
  return signerOf(file, role, trust, OTHERS_THAN_THE_GROUP);
}

function signerOf(file: string, role: ServiceRole, trust: TrustStore, forbidden: number): Signer {
  const key = new SigningKey(seedOf(file, forbidden));
  const id = keyId(role, publicKeyFromSeed(key));
  if (!trust.keys.some((record) => record.id === id && record.status === 'active')) {
    throw new KeyStoreError(
      'keys_broken',
      `the ${role} key in ${file} is not an active key of the trust store that belongs to it`,
    );
  }
  return { keyId: id, role, sign: (message) => signAsync(key, message) };
}
