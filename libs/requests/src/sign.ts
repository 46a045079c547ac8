import { canonicalJson, fromBase64, type JsonValue, LedgerError, pae, type Signer, toBase64, utf8 } from '#lib/ledger';
import { RequestError } from './errors.js';
import type { OutsideCancel, OutsideRequest } from './shape.js';
import type { RequesterKeys } from './requester-keys.js';

export const REQUEST_TYPE = 'application/vnd.truss.eval-request.v1+json';
const CANCEL_TYPE = 'application/vnd.truss.eval-cancel.v1+json';

type Signature = NonNullable<OutsideRequest['signature']>;
/** What a requester signs. */
type Signed = (OutsideRequest | OutsideCancel) & { readonly signature: Signature };

function typeOf({ kind }: Signed): string {
  return kind === 'eval' ? REQUEST_TYPE : CANCEL_TYPE;
}

/**
 * What the signature of a request or a cancel covers: DSSE's PAE of the RFC 8785 JSON of all of it but `sig`. Members that are `null` are
 * left out, so that a field which a later schema adds, and fills with `null`, changes nothing about what was signed before.
 */
export function signedMessage(signed: Signed): Uint8Array {
  const { sig: _sig, ...signature } = signed.signature;
  return pae(typeOf(signed), utf8(canonicalJson(withoutNulls({ ...signed, signature }))));
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
  return signed({ ...request, signature: { keyid: signer.keyId, sig: '', audience, expires } }, signer);
}

/** The same for a cancel. */
export async function signCancel(
  cancel: Omit<OutsideCancel, 'signature'>,
  signer: Signer,
  { audience, expires }: { readonly audience: string; readonly expires: number },
): Promise<OutsideCancel & { readonly signature: Signature }> {
  return signed({ ...cancel, signature: { keyid: signer.keyId, sig: '', audience, expires } }, signer);
}

async function signed<T extends Signed>(unsigned: T, signer: Signer): Promise<T> {
  const sig = toBase64(await signer.sign(signedMessage(unsigned)));
  return { ...unsigned, signature: { ...unsigned.signature, sig } };
}

/**
 * Whether the one who asks may: the key is this requester's, it is for this deployment and for now, and it signed exactly this.
 * @throws RequestError
 */
export async function checkSignature(
  asked: Signed,
  requester: string,
  { keys, audience, now }: { readonly keys: RequesterKeys; readonly audience: string; readonly now: number },
): Promise<void> {
  const { signature } = asked;
  const key = keys.active(signature.keyid);
  if (key.operator !== requester) {
    throw new RequestError(
      'requester_mismatch',
      asked.kind === 'eval'
        ? `the request is signed with a key of ${key.operator} and says that ${requester} asks: say who signs`
        : `the cancel is signed with a key of ${key.operator}, and ${requester} asked for the evaluation: sign it with a key of theirs`,
    );
  }
  if (signature.audience !== audience) {
    throw new RequestError(
      'audience_mismatch',
      `the signature is for the deployment ${signature.audience}, and this is ${audience}: sign it for this one`,
    );
  }
  if (now >= signature.expires) {
    throw new RequestError('signature_expired', 'the signature has expired: sign it again');
  }
  if (!(await holds(asked, key))) {
    throw new RequestError(
      'signature_invalid',
      `the signature is not the key's over what came (DSSE of type ${typeOf(asked)}): sign it again as it is sent`,
    );
  }
}

async function holds(asked: Signed, key: ReturnType<RequesterKeys['active']>): Promise<boolean> {
  try {
    return await key.verifyAsync(signedMessage(asked), fromBase64(asked.signature.sig));
  } catch (error) {
    if (error instanceof LedgerError) return false;
    throw error;
  }
}
