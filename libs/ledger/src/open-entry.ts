import { z } from 'zod';
import { type AttachmentRef, attachmentSchema, BODIES, type EntryType, isEntryType } from './bodies.js';
import { pae } from './dsse.js';
import {
  type Entry,
  type EntryHeader,
  hashOf,
  hashOfSealed,
  MAX_INLINE_BODY,
  type OpenedEntry,
  PAYLOAD_TYPE,
  refOf,
  type SealedBytes,
  type SignedEntry,
  type KeyRing,
  type TrustedKey,
} from './entry.js';
import { LedgerError } from './errors.js';
import { type Fits, fitsOf } from './fits.js';
import { CHILD_RUN_ID, type EntryHash, EVAL_RUN_ID, HASH, type KeyId } from './ids.js';
import { type JsonObject, parseCanonicalJson } from './jcs.js';
import { ROLES } from './roles.js';
import { sha256Hex } from './sha256.js';

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

/** The signature is checked over the stored bytes before anything in them is parsed. */
export function openEntry(record: SignedEntry, keys: KeyRing): Opened {
  const key = keys.get(record.keyid);
  if (key === undefined)
    return { kind: 'foreign', code: 'key_unknown', reason: `no trusted key has the id ${record.keyid}` };
  const message = pae(record.payloadType, record.payload);
  return key.verify(message, record.signature)
    ? parseSigned(record, key, hashOf(message, record.signature))
    : UNVERIFIED;
}

/** As `openEntry`, for a record whose signature was checked elsewhere and by this key, over the bytes as they were laid out; `holds` says how. */
export function openVerified(record: SignedEntry, key: TrustedKey, sealed: SealedBytes, holds: boolean): Opened {
  return holds ? parseSigned(record, key, hashOfSealed(sealed)) : UNVERIFIED;
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
    const linking = fits(type, body) ? null : shape.safeParse(body);
    if (linking?.success === false) return defect('body_malformed', `${type}: ${z.prettifyError(linking.error)}`);
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

const tests = new Map<EntryType, Fits>();

/** Whether the type's schema accepts the body. */
function fits(type: EntryType, body: unknown): boolean {
  let test = tests.get(type);
  if (test === undefined) {
    test = fitsOf(BODIES[type]);
    tests.set(type, test);
  }
  return test(body);
}

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
  if (fits(entry.type, body)) return body === entry.body ? (entry as Entry) : ({ ...entry, body } as Entry);
  const shape: z.ZodType = BODIES[entry.type];
  const parsed = shape.safeParse(body);
  if (!parsed.success)
    throw new LedgerError('body_malformed', `${refOf(entry)} (${entry.type}): ${z.prettifyError(parsed.error)}`);
  return { ...entry, body: parsed.data } as Entry;
}
