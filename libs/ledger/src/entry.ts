import type { BodyOf, EntryType, Writer } from './bodies.js';
import { fromHex, utf8 } from './bytes.js';
import { pae, paeLength, writePae } from './dsse.js';
import { LedgerError } from './errors.js';
import type { EntryHash, EvalRunId, KeyId, LedgerId, LedgerRef } from './ids.js';
import { ledgerRef } from './ids.js';
import type { JsonObject } from './jcs.js';
import type { Role } from './roles.js';
import { sha256Hex } from './sha256.js';

export const PAYLOAD_TYPE = 'application/vnd.truss.ledger-entry.v1+json';
/** A larger body is an attachment. */
export const MAX_INLINE_BODY = 64 * 1024;

/** A DSSE envelope with its one signature, as stored: `payload` is the exact bytes that were signed. */
export interface SignedEntry {
  readonly payloadType: string;
  readonly payload: Uint8Array;
  readonly keyid: KeyId;
  readonly signature: Uint8Array;
}

/** The signed fields of an entry but its type and body. */
export interface EntryHeader {
  /** RFC 3339 UTC with milliseconds: a claim, never evidence of order. */
  readonly at: string;
  readonly eval: EvalRunId;
  readonly key: KeyId;
  readonly ledger: LedgerId;
  readonly prev: EntryHash;
  readonly role: Role;
  readonly seq: number;
  readonly session: string;
}

interface Sealed {
  readonly hash: EntryHash;
  readonly envelope: SignedEntry;
}

/** An entry whose signature was checked; its body may still be an attachment. */
export interface OpenedEntry extends EntryHeader, Sealed {
  readonly type: EntryType;
  readonly body: JsonObject;
}

export type EntryOf<T extends EntryType> = EntryHeader & Sealed & { readonly type: T; readonly body: BodyOf<T> };
/** An entry with its body at hand and of its type's shape. */
export type Entry = { [T in EntryType]: EntryOf<T> }[EntryType];

/** What a writer wants recorded: the log position, the clock and the signature come later. */
export type Draft = { [T in EntryType]: { readonly type: T; readonly body: BodyOf<T> } }[EntryType];

export interface TrustedKey {
  readonly id: KeyId;
  readonly role: Role;
  readonly operator: string;
  verify(message: Uint8Array, signature: Uint8Array): boolean;
  verifyAsync(message: Uint8Array, signature: Uint8Array): Promise<boolean>;
}
export interface KeyRing {
  get(id: string): TrustedKey | undefined;
}

/** Holds a private key and shows only what it signs. */
export interface Signer {
  readonly keyId: KeyId;
  readonly role: Role;
  sign(message: Uint8Array): Promise<Uint8Array>;
}

const ENTRY_DOMAIN = utf8('truss.entry.v1\0');
const GENESIS_DOMAIN = utf8('truss.genesis.v1\0');

/** SHA-256(`"truss.entry.v1\0"` ‖ PAE ‖ signature): it pins the signature too. */
export function entryHash(entry: Pick<SignedEntry, 'payloadType' | 'payload' | 'signature'>): EntryHash {
  return hashOf(pae(entry.payloadType, entry.payload), entry.signature);
}

/** As `entryHash`, where the PAE is at hand. */
export function hashOf(message: Uint8Array, signature: Uint8Array): EntryHash {
  return sha256Hex(ENTRY_DOMAIN, message, signature) as EntryHash;
}

/** A record's bytes as its hash covers them, and those of them that its signature covers. */
export interface SealedBytes {
  readonly whole: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/** Lays records out in one buffer, where each is checked and hashed without a copy: a buffer for each takes longer to make than to fill. */
export function sealedBytes(records: readonly SignedEntry[]): SealedBytes[] {
  const ends: number[] = [];
  let length = 0;
  for (const { payloadType, payload, signature } of records) {
    length += ENTRY_DOMAIN.length + paeLength(payloadType, payload) + signature.length;
    ends.push(length);
  }
  const bytes = new Uint8Array(length);
  return records.map(({ payloadType, payload, signature }, i) => {
    const from = ends[i - 1] ?? 0;
    const to = ends[i] as number;
    bytes.set(ENTRY_DOMAIN, from);
    const message = from + ENTRY_DOMAIN.length;
    const sealed = writePae(payloadType, payload, bytes, message);
    bytes.set(signature, sealed);
    return {
      whole: bytes.subarray(from, to),
      message: bytes.subarray(message, sealed),
      signature: bytes.subarray(sealed, to),
    };
  });
}

/** As `entryHash`, of a record that was laid out. */
export function hashOfSealed({ whole }: SealedBytes): EntryHash {
  return sha256Hex(whole) as EntryHash;
}

/** `prev` of an evaluation's first entry. */
export function genesisHash(evaluation: EvalRunId): EntryHash {
  return sha256Hex(GENESIS_DOMAIN, utf8(evaluation)) as EntryHash;
}

export function refOf(entry: EntryHeader & { readonly hash: EntryHash }): LedgerRef {
  return ledgerRef(entry.ledger, entry.seq, entry.hash);
}

export function writerOf(entry: EntryHeader): Writer {
  return { key: entry.key, session: entry.session };
}

export function sameWriter(a: Writer, b: Writer): boolean {
  return a.key === b.key && a.session === b.session;
}

/** Key id = SHA-256(`"truss.key.v1\0"` ‖ role ‖ `"\0"` ‖ 32-byte public key), so one key in two roles is two keys. */
export function keyId(role: Role, publicKey: Uint8Array): KeyId {
  return sha256Hex(utf8('truss.key.v1\0'), utf8(role), utf8('\0'), publicKey) as KeyId;
}

export function publicKeyBytes(hex: string): Uint8Array {
  const bytes = fromHex(hex);
  if (bytes.length !== 32) throw new LedgerError('key_rejected', 'an Ed25519 public key has 32 bytes');
  return bytes;
}
