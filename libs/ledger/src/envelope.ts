import { z } from 'zod';
import { fromBase64, toBase64, utf8Decode } from './bytes.js';
import type { SignedEntry } from './entry.js';
import { LedgerError } from './errors.js';
import { HASH } from './ids.js';
import type { KeyId } from './ids.js';

export const envelopeSchema = z.strictObject({
  payload: z.string(),
  payloadType: z.string(),
  signatures: z.array(z.strictObject({ keyid: z.string().regex(HASH), sig: z.string() })).length(1),
});

/** A standard DSSE JSON envelope (secure-systems-lab/dsse, envelope.md), one line of an export. */
export type DsseEnvelope = z.infer<typeof envelopeSchema>;

export function toEnvelope(entry: SignedEntry): DsseEnvelope {
  return {
    payload: toBase64(entry.payload),
    payloadType: entry.payloadType,
    signatures: [{ keyid: entry.keyid, sig: toBase64(entry.signature) }],
  };
}

/** @throws LedgerError `bad_envelope` where the value is no envelope, `bad_encoding` where its base64 is not strict. */
export function fromEnvelope(value: unknown): SignedEntry {
  const parsed = envelopeSchema.safeParse(value);
  if (!parsed.success)
    throw new LedgerError('bad_envelope', `not a DSSE envelope with one signature: ${z.prettifyError(parsed.error)}`);
  const [signature] = parsed.data.signatures;
  if (signature === undefined) throw new LedgerError('bad_envelope', 'a DSSE envelope without a signature');
  return {
    payloadType: parsed.data.payloadType,
    payload: fromBase64(parsed.data.payload),
    keyid: signature.keyid as KeyId,
    signature: fromBase64(signature.sig),
  };
}

/** One JSONL line into its envelope. @throws LedgerError */
export function parseEnvelopeLine(line: Uint8Array): SignedEntry {
  try {
    return fromEnvelope(JSON.parse(utf8Decode(line)));
  } catch (error) {
    if (error instanceof LedgerError) throw error;
    throw new LedgerError('bad_envelope', 'a line that is not JSON', { cause: error });
  }
}
