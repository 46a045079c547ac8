import { canonicalJson, fromBase64, type JsonValue, LedgerError, pae, type Signer, toBase64, utf8 } from '#lib/ledger';
import { RequestError } from './errors.js';
import type { OutsideRequest } from './shape.js';
import type { RequesterKeys } from './requester-keys.js';

export const REQUEST_TYPE = 'application/vnd.truss.eval-request.v1+json';

type Signature = NonNullable<OutsideRequest['signature']>;

/**
 * What the signature of a request covers: DSSE's PAE of the RFC 8785 JSON of all of it but `sig`. Members that are `null` are left out, so
 * that a field which a later schema adds, and fills with `null`, changes nothing about what was signed before.
 */
export function signedMessage(request: OutsideRequest): Uint8Array {
  const { sig: _sig, ...signed } = request.signature as Signature;
  return pae(REQUEST_TYPE, utf8(canonicalJson(withoutNulls({ ...request, signature: signed }))));
}

function withoutNulls(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutNulls);
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutNulls(member)]));
}

/** Signs a request for one deployment. `expires`: milliseconds since the epoch. */
export async function signRequest(
  request: Omit<OutsideRequest, 'signature'>,
  signer: Signer,
  { audience, expires }: { readonly audience: string; readonly expires: number },
): Promise<OutsideRequest> {
  const unsigned = { ...request, signature: { keyid: signer.keyId as string, sig: '', audience, expires } };
  const sig = toBase64(await signer.sign(signedMessage(unsigned)));
  return { ...unsigned, signature: { ...unsigned.signature, sig } };
}

/**
 * Whether the one who asks may: the key is a requester's, it is for this deployment and for now, and it signed exactly this.
 * @throws RequestError
 */
export async function checkSignature(
  request: OutsideRequest,
  signature: Signature,
  { keys, audience, now }: { readonly keys: RequesterKeys; readonly audience: string; readonly now: number },
): Promise<void> {
  const key = keys.active(signature.keyid);
  if (key.operator !== request.requester) {
    throw new RequestError(
      'requester_mismatch',
      `the request is signed with a key of ${key.operator} and says that ${request.requester} asks: say who signs`,
    );
  }
  if (signature.audience !== audience) {
    throw new RequestError(
      'audience_mismatch',
      `the signature is for the deployment ${signature.audience}, and this is ${audience}: sign it for this one`,
    );
  }
  if (now >= signature.expires) {
    throw new RequestError('signature_expired', 'the signature has expired: sign the request again');
  }
  if (!(await holds(request, signature, key))) {
    throw new RequestError(
      'signature_invalid',
      `the signature is not the key's over this request (DSSE of type ${REQUEST_TYPE}): sign it again as it is sent`,
    );
  }
}

async function holds(
  request: OutsideRequest,
  { sig }: Signature,
  key: ReturnType<RequesterKeys['active']>,
): Promise<boolean> {
  try {
    return await key.verifyAsync(signedMessage(request), fromBase64(sig));
  } catch (error) {
    if (error instanceof LedgerError) return false;
    throw error;
  }
}
