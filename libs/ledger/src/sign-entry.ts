import type { AttachmentRef } from './bodies.js';
import { utf8 } from './bytes.js';
import { pae } from './dsse.js';
import {
  type Draft,
  type Entry,
  type EntryHeader,
  hashOf,
  MAX_INLINE_BODY,
  PAYLOAD_TYPE,
  type SignedEntry,
  type Signer,
} from './entry.js';
import type { EntryHash, EvalRunId, LedgerId } from './ids.js';
import { canonicalJson } from './jcs.js';
import { sha256Hex } from './sha256.js';

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
