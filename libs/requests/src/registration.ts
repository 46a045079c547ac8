import { z } from 'zod';
import {
  canonicalJson,
  envelopeSchema,
  fromEnvelope,
  HASH,
  type JsonValue,
  LedgerError,
  pae,
  parseCanonicalJson,
  type Signer,
  toEnvelope,
  utf8,
} from '#lib/ledger';
import { RequestError } from './errors.js';
import type { RequesterKeys } from './requester-keys.js';
import { MAX_TOML } from './shape.js';

export const REGISTRATION_TYPE = 'application/vnd.truss.contract-registration.v1+json';

const hash = z.string().regex(HASH);
/** What a requester signs when a contract is registered. */
const payloadSchema = z.strictObject({
  v: z.literal(1),
  /** The deployment where it may be run. */
  audience: z.string().min(1),
  id: z.string(),
  digest: hash,
  toml: z.string().min(1).max(MAX_TOML),
  archive: z.strictObject({ sha256: hash, size: z.int().min(1) }).nullable(),
});

/** The value of a record of `eval.contract`: the JSON form of the Avro record `ContractRegistration`. */
const recordSchema = z.strictObject({
  contract_id: z.string(),
  digest: hash,
  registered_at: z.int().min(0),
  /** Where the archive may be had: a URL, or `null`, an attachment of the log. A hint. */
  files: z.strictObject({ url: z.string().max(2048).nullable() }),
  envelope: envelopeSchema,
});

/** A contract that may be asked for by id and digest. */
export interface Registration {
  readonly id: string;
  readonly digest: string;
  readonly toml: string;
  readonly archive: { readonly sha256: string; readonly size: number; readonly url: string | null } | null;
  readonly operator: string;
  readonly registeredAt: number;
}

/** The key of a registration on `eval.contract`, which is compacted: another content of the contract, or another's contract, is beside it. */
export function registrationKey({ id, digest }: Pick<Registration, 'id' | 'digest'>): string {
  return `${id}@${digest}`;
}

/** Signs what goes on `eval.contract`, with `registrationKey` as its key. */
export async function signRegistration(
  { id, digest, toml, archive }: Pick<Registration, 'id' | 'digest' | 'toml' | 'archive'>,
  signer: Signer,
  { audience, now }: { readonly audience: string; readonly now: number },
): Promise<JsonValue> {
  const pinned = archive === null ? null : { sha256: archive.sha256, size: archive.size };
  const payload = utf8(canonicalJson({ v: 1, audience, id, digest, toml, archive: pinned }));
  const signature = await signer.sign(pae(REGISTRATION_TYPE, payload));
  return {
    contract_id: id,
    digest,
    registered_at: now,
    files: { url: archive?.url ?? null },
    envelope: toEnvelope({ payloadType: REGISTRATION_TYPE, payload, keyid: signer.keyId, signature }),
  };
}

/** Reads a record of `eval.contract`; `null` where no requester of this deployment signed it for this deployment. */
export async function openRegistration(
  value: JsonValue,
  { keys, audience }: { readonly keys: RequesterKeys; readonly audience: string },
): Promise<Registration | null> {
  const record = recordSchema.safeParse(value);
  if (!record.success) return null;
  const { envelope, files, registered_at: registeredAt } = record.data;
  try {
    const signed = fromEnvelope(envelope);
    const key = keys.active(signed.keyid);
    if (signed.payloadType !== REGISTRATION_TYPE) return null;
    if (!(await key.verifyAsync(pae(signed.payloadType, signed.payload), signed.signature))) return null;
    const payload = payloadSchema.safeParse(parseCanonicalJson(signed.payload));
    if (!payload.success || payload.data.audience !== audience) return null;
    const { id, digest, toml, archive } = payload.data;
    const located = archive === null ? null : { ...archive, url: files.url };
    return { id, digest, toml, archive: located, operator: key.operator, registeredAt };
  } catch (error) {
    if (error instanceof LedgerError || error instanceof RequestError) return null;
    throw error;
  }
}
