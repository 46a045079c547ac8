import { z } from 'zod';
import {
  type AttachmentRef,
  attachmentSchema,
  BODIES,
  type BodyOf,
  type EntryType,
  isEntryType,
  type Writer,
} from './bodies.js';
import { fromHex, utf8 } from './bytes.js';
import { pae } from './dsse.js';
import { LedgerError } from './errors.js';
import { CHILD_RUN_ID, EVAL_RUN_ID, HASH } from './ids.js';
import type { EntryHash, EvalRunId, KeyId, LedgerId, LedgerRef } from './ids.js';
import { ledgerRef } from './ids.js';
import { canonicalJson, type JsonObject, parseCanonicalJson } from './jcs.js';
import { type Role, ROLES } from './roles.js';
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

const AT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const SESSION = /^[0-9a-f]{32}$/;

const headerSchema = z.strictObject({
  at: z.string().regex(AT),
  body: z.custom<JsonObject>((v) => typeof v === 'object' && v !== null && !Array.isArray(v)),
  eval: z.string().regex(EVAL_RUN_ID),
  key: z.string().regex(HASH),
  ledger: z.string().refine((s) => EVAL_RUN_ID.test(s) || CHILD_RUN_ID.test(s)),
  prev: z.string().regex(HASH),
  role: z.enum(['coordinator', 'executor', 'projector', 'requester']),
  seq: z.int().min(0),
  session: z.string().regex(SESSION),
  type: z.string(),
  v: z.int(),
});

export type ForeignCode = 'foreign_record' | 'key_unknown';
export type DefectCode =
  | 'payload_not_canonical'
  | 'entry_type_unknown'
  | 'role_not_permitted'
  | 'ledger_mismatch'
  | 'body_malformed';

/**
 * What a record turned out to be. `foreign`: no trusted key signed it, so it is not an entry, only noise.
 * `defect`: a trusted key signed something that is no entry of this format.
 */
export type Opened =
  | { readonly kind: 'entry'; readonly entry: OpenedEntry }
  | { readonly kind: 'foreign'; readonly code: ForeignCode; readonly reason: string }
  | {
      readonly kind: 'defect';
      readonly code: DefectCode;
      readonly reason: string;
      readonly key: KeyId;
      readonly hash: EntryHash;
    };

const ENTRY_DOMAIN = utf8('truss.entry.v1\0');
const GENESIS_DOMAIN = utf8('truss.genesis.v1\0');

/** SHA-256(`"truss.entry.v1\0"` ‖ PAE ‖ signature): it pins the signature too. */
export function entryHash(entry: Pick<SignedEntry, 'payloadType' | 'payload' | 'signature'>): EntryHash {
  return hashOf(pae(entry.payloadType, entry.payload), entry.signature);
}

function hashOf(message: Uint8Array, signature: Uint8Array): EntryHash {
  return sha256Hex(ENTRY_DOMAIN, message, signature) as EntryHash;
}

/** `prev` of an evaluation's first entry. */
export function genesisHash(evaluation: EvalRunId): EntryHash {
  return sha256Hex(GENESIS_DOMAIN, utf8(evaluation)) as EntryHash;
}

/** The signature is checked over the stored bytes before anything in them is parsed. */
export function openEntry(record: SignedEntry, keys: KeyRing): Opened {
  const key = keys.get(record.keyid);
  if (key === undefined)
    return { kind: 'foreign', code: 'key_unknown', reason: `no trusted key has the id ${record.keyid}` };
  const message = pae(record.payloadType, record.payload);
  return openVerified(record, key, message, key.verify(message, record.signature));
}

/** As `openEntry`, for a record whose signature over `message`, its PAE, was checked elsewhere and by this key; `holds` says how. */
export function openVerified(record: SignedEntry, key: TrustedKey, message: Uint8Array, holds: boolean): Opened {
  return holds ? parseSigned(record, key, hashOf(message, record.signature)) : UNVERIFIED;
}

/** As `openEntry`, with the signature checked off this thread. */
export async function openEntryAsync(record: SignedEntry, keys: KeyRing): Promise<Opened> {
  const key = keys.get(record.keyid);
  if (key === undefined)
    return { kind: 'foreign', code: 'key_unknown', reason: `no trusted key has the id ${record.keyid}` };
  const message = pae(record.payloadType, record.payload);
  if (!(await key.verifyAsync(message, record.signature))) return UNVERIFIED;
  return parseSigned(record, key, hashOf(message, record.signature));
}

const UNVERIFIED: Opened = { kind: 'foreign', code: 'foreign_record', reason: 'the signature does not verify' };

function parseSigned(record: SignedEntry, key: TrustedKey, hash: EntryHash): Opened {
  const defect = (code: DefectCode, reason: string): Opened => ({ kind: 'defect', code, reason, key: key.id, hash });
  if (record.payloadType !== PAYLOAD_TYPE) return defect('entry_type_unknown', `payload type ${record.payloadType}`);
  let payload: unknown;
  try {
    payload = parseCanonicalJson(record.payload);
  } catch (error) {
    return defect('payload_not_canonical', error instanceof Error ? error.message : 'not canonical JSON');
  }
  if (!isSigned(payload)) {
    const parsed = headerSchema.safeParse(payload);
    return defect('body_malformed', parsed.success ? 'not the fields of an entry' : z.prettifyError(parsed.error));
  }
  const { type } = payload;
  if (payload.v !== 1) return defect('entry_type_unknown', `format version ${payload.v}`);
  if (!isEntryType(type)) return defect('entry_type_unknown', `entry type ${type}`);
  if (payload.key !== key.id || payload.role !== key.role) {
    return defect('role_not_permitted', `signed by ${key.role} ${key.id}, but says ${payload.role} ${payload.key}`);
  }
  if (payload.ledger !== payload.eval && !payload.ledger.startsWith(`${payload.eval}.`)) {
    return defect('ledger_mismatch', `ledger ${payload.ledger} is not of evaluation ${payload.eval}`);
  }
  const { body } = payload;
  if (LINKING.has(type)) {
    const shape: z.ZodType = BODIES[type];
    const linking = shape.safeParse(body);
    if (!linking.success) return defect('body_malformed', `${type}: ${z.prettifyError(linking.error)}`);
  } else if ('attachment' in body) {
    // What fits into its entry cannot be taken away from it.
    const attached = attachedBody({ body });
    if (attached !== null && attached.size <= MAX_INLINE_BODY)
      return defect('body_malformed', `${type}: a body of ${attached.size} bytes must stand in its entry`);
  }
  const { at, eval: evaluation, ledger, prev, role, seq, session } = payload;
  return {
    kind: 'entry',
    entry: { at, eval: evaluation, key: key.id, ledger, prev, role, seq, session, type, body, hash, envelope: record },
  };
}

type Signed = EntryHeader & { readonly body: JsonObject; readonly type: string; readonly v: number };
const FIELDS = 11;

/** A pattern, and the last text that fitted it: the next entry nearly always has the same ledger, session, evaluation and key. */
class Pattern {
  #last: string | null = null;

  constructor(private readonly fits: (text: string) => boolean) {}

  test(value: unknown): value is string {
    if (value === this.#last) return true;
    if (typeof value !== 'string' || !this.fits(value)) return false;
    this.#last = value;
    return true;
  }
}

const isEvaluation = new Pattern((text) => EVAL_RUN_ID.test(text));
const isLedger = new Pattern((text) => EVAL_RUN_ID.test(text) || CHILD_RUN_ID.test(text));
const isKey = new Pattern((text) => HASH.test(text));
const isSession = new Pattern((text) => SESSION.test(text));

// What `headerSchema` says, spelled out: it stands on the path of every record that is read, and this takes a tenth of the time.
function isSigned(value: unknown): value is Signed {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const {
    at,
    body,
    eval: evaluation,
    key,
    ledger,
    prev,
    role,
    seq,
    session,
    type,
    v,
  } = value as Record<string, unknown>;
  return (
    Object.keys(value).length === FIELDS &&
    typeof at === 'string' &&
    AT.test(at) &&
    typeof body === 'object' &&
    body !== null &&
    !Array.isArray(body) &&
    isEvaluation.test(evaluation) &&
    isKey.test(key) &&
    isLedger.test(ledger) &&
    typeof prev === 'string' &&
    HASH.test(prev) &&
    (ROLES as readonly unknown[]).includes(role) &&
    typeof seq === 'number' &&
    Number.isSafeInteger(seq) &&
    seq >= 0 &&
    isSession.test(session) &&
    typeof type === 'string' &&
    typeof v === 'number' &&
    Number.isSafeInteger(v)
  );
}

// The live chain rests on these bodies, so they stand in the entry and have their shape, or it is no entry: every reader folds alike.
const LINKING: ReadonlySet<EntryType> = new Set(['writer_changed', 'child_requested', 'child_anchor']);

/** The attachment that holds an entry's body, or `null` where the body stands in the entry. */
export function attachedBody(entry: Pick<OpenedEntry, 'body'>): AttachmentRef | null {
  if (!Object.hasOwn(entry.body, 'attachment')) return null;
  const parsed = attachmentSchema.safeParse((entry.body as { attachment?: unknown }).attachment);
  return parsed.success && Object.keys(entry.body).length === 1 ? parsed.data : null;
}

/**
 * Gives an entry its typed body; `attachment` are the bytes that `attachedBody` names, if it names any.
 * @throws LedgerError `attachment_missing`, `attachment_mismatch`, `body_malformed`
 */
export function typedEntry(entry: OpenedEntry, attachment?: Uint8Array): Entry {
  // Its shape was checked when it was opened.
  if (LINKING.has(entry.type)) return entry as Entry;
  const attached = attachedBody(entry);
  let body: unknown = entry.body;
  if (attached !== null) {
    if (attachment === undefined)
      throw new LedgerError('attachment_missing', `the body of ${refOf(entry)} is not at hand: ${attached.sha256}`);
    if (attachment.length !== attached.size || sha256Hex(attachment) !== attached.sha256) {
      throw new LedgerError(
        'attachment_mismatch',
        `the attachment of ${refOf(entry)} is not what its hash names: ${attached.sha256}`,
      );
    }
    body = parseCanonicalJson(attachment);
  }
  const shape: z.ZodType = BODIES[entry.type];
  const parsed = shape.safeParse(body);
  if (!parsed.success)
    throw new LedgerError('body_malformed', `${refOf(entry)} (${entry.type}): ${z.prettifyError(parsed.error)}`);
  return { ...entry, body: parsed.data } as Entry;
}

/** Where and by whom a draft is to be written. */
export interface Place {
  readonly eval: EvalRunId;
  readonly ledger: LedgerId;
  readonly prev: EntryHash;
  readonly seq: number;
  readonly session: string;
  readonly at: string;
}

export interface SignedDraft {
  readonly entry: Entry;
  /** Bytes to store before the entry, where its body is over 64 KiB. */
  readonly attachment: { readonly ref: AttachmentRef; readonly bytes: Uint8Array } | null;
}

/** Signs a draft for its place. The caller stores the attachment, if there is one, before it appends the entry. */
export async function signDraft(draft: Draft, place: Place, signer: Signer): Promise<SignedDraft> {
  const unsigned = layOut(draft, place, signer);
  return withSignature(unsigned, await signer.sign(unsigned.message));
}

/** As `signDraft`, with a signature that is at hand at once. */
export function signDraftSync(
  draft: Draft,
  place: Place,
  signer: Pick<Signer, 'keyId' | 'role'> & { sign(message: Uint8Array): Uint8Array },
): SignedDraft {
  const unsigned = layOut(draft, place, signer);
  return withSignature(unsigned, signer.sign(unsigned.message));
}

interface UnsignedDraft {
  readonly draft: Draft;
  readonly header: EntryHeader;
  readonly payload: Uint8Array;
  readonly message: Uint8Array;
  readonly attachment: SignedDraft['attachment'];
}

function layOut(draft: Draft, place: Place, signer: Pick<Signer, 'keyId' | 'role'>): UnsignedDraft {
  const bodyText = canonicalJson(draft.body);
  let attachment: SignedDraft['attachment'] = null;
  let inline = bodyText;
  if (
    bodyText.length > MAX_INLINE_BODY ||
    (bodyText.length * 3 > MAX_INLINE_BODY && utf8(bodyText).length > MAX_INLINE_BODY)
  ) {
    const bytes = utf8(bodyText);
    attachment = { ref: { sha256: sha256Hex(bytes), size: bytes.length }, bytes };
    inline = canonicalJson({ attachment: attachment.ref });
  }
  const header: EntryHeader = { ...place, key: signer.keyId, role: signer.role };
  // The keys in JCS order, so that the body is not canonicalised twice.
  const payload = utf8(
    `{"at":"${header.at}","body":${inline},"eval":"${header.eval}","key":"${header.key}","ledger":"${header.ledger}","prev":"${header.prev}"` +
      `,"role":"${header.role}","seq":${header.seq},"session":"${header.session}","type":"${draft.type}","v":1}`,
  );
  return { draft, header, payload, message: pae(PAYLOAD_TYPE, payload), attachment };
}

function withSignature(
  { draft, header, payload, message, attachment }: UnsignedDraft,
  signature: Uint8Array,
): SignedDraft {
  const envelope: SignedEntry = { payloadType: PAYLOAD_TYPE, payload, keyid: header.key, signature };
  const entry = { ...header, type: draft.type, body: draft.body, hash: hashOf(message, signature), envelope } as Entry;
  return { entry, attachment };
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
