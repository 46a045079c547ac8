import type { openTrustStore } from '#lib/ledger';
import { RequestError } from './errors.js';

export type TrustedKeys = ReturnType<typeof openTrustStore>;

/** The keys that may ask, and register contracts. */
export interface RequesterKeys {
  /** @throws RequestError `key_not_accepted` */
  active(id: string): TrustedKeys['keys'][number];
  /** Whether a requester has a key with which they can sign. */
  has(requester: string): boolean;
}

export function requesterKeys(trust: TrustedKeys): RequesterKeys {
  const signing = new Set(
    trust.keys
      .filter(({ role, status }) => role === 'requester' && status === 'active')
      .map(({ operator }) => operator),
  );
  const known = new Map<string, TrustedKeys['keys'][number]>(trust.keys.map((key) => [key.id, key]));
  return {
    has: (requester) => signing.has(requester),
    active(id) {
      const key = known.get(id);
      const refused = (why: string) => new RequestError('key_not_accepted', `the key ${id.slice(0, 16)}… ${why}`);
      if (key === undefined) throw refused('is not in the trust store of this deployment: have it added there');
      if (key.role !== 'requester') throw refused(`is a key of the ${key.role}: sign with a requester's`);
      if (key.status !== 'active') throw refused(`is ${key.status}: sign with another`);
      return key;
    },
  };
}
