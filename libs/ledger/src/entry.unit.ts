import { beforeAll, describe, expect, test } from 'vitest';
import { publicKeyFromSeed, SigningKey, signAsync } from '#ledger-crypto';
import { toHex, utf8, utf8Decode } from './bytes.js';
import { pae } from './dsse.js';
import {
  type Draft,
  entryHash,
  genesisHash,
  keyId,
  MAX_INLINE_BODY,
  PAYLOAD_TYPE,
  type SignedEntry,
  type Signer,
} from './entry.js';
import { attachedBody, openEntry, openEntryAsync, typedEntry } from './open-entry.js';
import { type Place, signDraft } from './sign-entry.js';
import { evalRunId } from './ids.js';
import { canonicalJson } from './jcs.js';
import type { Role } from './roles.js';
import { openTrustStore, type TrustStore } from './trust-store.js';

const EVAL = evalRunId('tester', 'one');

function signerOf(role: Role, fill: number): { signer: Signer; record: TrustStore['keys'][number] } {
  const key = new SigningKey(new Uint8Array(32).fill(fill));
  const publicKey = publicKeyFromSeed(key);
  const id = keyId(role, publicKey);
  return {
    signer: { keyId: id, role, sign: (message) => signAsync(key, message) },
    record: { id, role, operator: 'test', public_key: toHex(publicKey), status: 'active', accepted_heads: [] },
  };
}

const coordinator = signerOf('coordinator', 1);
const stranger = signerOf('coordinator', 2);
const keys = openTrustStore({ version: 1, keys: [coordinator.record] });
const place: Place = {
  eval: EVAL,
  ledger: EVAL,
  prev: genesisHash(EVAL),
  seq: 0,
  session: '0'.repeat(32),
  at: '2026-01-01T00:00:00.000Z',
};
const closed: Draft = { type: 'eval_closed', body: { outcome: 'failed', anchors: 0, reason: 'ü\u2028"' } };

let record: SignedEntry;
beforeAll(async () => {
  record = (await signDraft(closed, place, coordinator.signer)).entry.envelope;
});

/** Signs any payload, as whoever holds the key could. */
async function forge(payload: string, payloadType = PAYLOAD_TYPE): Promise<SignedEntry> {
  const bytes = utf8(payload);
  const signature = await coordinator.signer.sign(pae(payloadType, bytes));
  return { payloadType, payload: bytes, keyid: coordinator.signer.keyId, signature };
}

describe('a signed entry', () => {
  test('opens to what was written, under the hash that its writer computed', async () => {
    const { entry } = await signDraft(closed, place, coordinator.signer);
    const opened = openEntry(entry.envelope, keys);
    expect(opened).toMatchObject({
      kind: 'entry',
      entry: { ...place, type: 'eval_closed', body: closed.body, hash: entry.hash },
    });
    expect(entry.hash).toBe(entryHash(entry.envelope));
    expect(await openEntryAsync(entry.envelope, keys)).toEqual(opened);
  });

  test('has a payload that is its own canonical form', () => {
    const text = utf8Decode(record.payload);
    expect(canonicalJson(JSON.parse(text))).toBe(text);
  });

  test('with any bit of payload or signature flipped is foreign', () => {
    for (const part of ['payload', 'signature'] as const) {
      for (let i = 0; i < record[part].length; i += 7) {
        const bytes = record[part].slice();
        bytes[i] = (bytes[i] as number) ^ (1 << (i % 8));
        expect(openEntry({ ...record, [part]: bytes }, keys).kind).toBe('foreign');
      }
    }
  });

  test('by a key that nobody trusts, or under another key id, is foreign', async () => {
    const { entry } = await signDraft(closed, place, stranger.signer);
    expect(openEntry(entry.envelope, keys)).toMatchObject({ kind: 'foreign', code: 'key_unknown' });
    expect(openEntry({ ...entry.envelope, keyid: coordinator.signer.keyId }, keys)).toMatchObject({ kind: 'foreign' });
  });
});

describe('signed, but no entry of this format', () => {
  const payloadWith = (change: (payload: Record<string, unknown>) => void) => {
    const payload = JSON.parse(utf8Decode(record.payload));
    change(payload);
    return canonicalJson(payload);
  };
  const cases: [string, () => string, string][] = [
    ['a space', () => utf8Decode(record.payload).replace(',"seq"', ', "seq"'), 'payload_not_canonical'],
    [
      'a duplicate key',
      () => utf8Decode(record.payload).replace(',"seq":0', ',"seq":0,"seq":0'),
      'payload_not_canonical',
    ],
    ['minus zero', () => utf8Decode(record.payload).replace('"seq":0', '"seq":-0'), 'payload_not_canonical'],
    ['a fraction of zero', () => utf8Decode(record.payload).replace('"seq":0', '"seq":0.0'), 'payload_not_canonical'],
    ['version 0', () => payloadWith((p) => Object.assign(p, { v: 0 })), 'entry_type_unknown'],
    ['version 2', () => payloadWith((p) => Object.assign(p, { v: 2 })), 'entry_type_unknown'],
    ['an unknown type', () => payloadWith((p) => Object.assign(p, { type: 'eval_praised' })), 'entry_type_unknown'],
    [
      'a type named like an inherited property',
      () => payloadWith((p) => Object.assign(p, { type: 'constructor' })),
      'entry_type_unknown',
    ],
    ['another role', () => payloadWith((p) => Object.assign(p, { role: 'executor' })), 'role_not_permitted'],
    [
      'a ledger of another evaluation',
      () => payloadWith((p) => Object.assign(p, { ledger: evalRunId('a', 'b') })),
      'ledger_mismatch',
    ],
    ['a field too many', () => payloadWith((p) => Object.assign(p, { note: '' })), 'body_malformed'],
    [
      'a writer_changed that names nobody',
      () => payloadWith((p) => Object.assign(p, { type: 'writer_changed', body: {} })),
      'body_malformed',
    ],
    [
      'a child_requested kept in an attachment',
      () =>
        payloadWith((p) =>
          Object.assign(p, { type: 'child_requested', body: { attachment: { sha256: 'a'.repeat(64), size: 1 } } }),
        ),
      'body_malformed',
    ],
    [
      'a body of 65,536 bytes kept in an attachment',
      () =>
        payloadWith((p) =>
          Object.assign(p, { type: 'eval_closed', body: { attachment: { sha256: 'a'.repeat(64), size: 65_536 } } }),
        ),
      'body_malformed',
    ],
  ];
  test.each(cases)('%s', async (_, payload, code) => {
    expect(openEntry(await forge(payload()), keys)).toMatchObject({ kind: 'defect', code });
  });

  test('another payload type', async () => {
    expect(openEntry(await forge(utf8Decode(record.payload), 'application/json'), keys)).toMatchObject({
      code: 'entry_type_unknown',
    });
  });
});

describe('a body over 64 KiB', () => {
  const long: Draft = {
    type: 'eval_closed',
    body: { outcome: 'failed', anchors: 0, reason: 'x'.repeat(MAX_INLINE_BODY) },
  };

  test('is an attachment, and comes back whole from its bytes', async () => {
    const { entry, attachment } = await signDraft(long, place, coordinator.signer);
    const opened = openEntry(entry.envelope, keys);
    if (opened.kind !== 'entry' || attachment === null) throw new Error('not an entry with an attachment');
    expect(attachedBody(opened.entry)).toEqual(attachment.ref);
    expect(typedEntry(opened.entry, attachment.bytes).body).toEqual(long.body);
    expect(() => typedEntry(opened.entry)).toThrowError(expect.objectContaining({ code: 'attachment_missing' }));
    expect(() => typedEntry(opened.entry, utf8('{}'))).toThrowError(
      expect.objectContaining({ code: 'attachment_mismatch' }),
    );
  });

  test('counts bytes, not characters', async () => {
    const wide: Draft = {
      type: 'eval_closed',
      body: { outcome: 'failed', anchors: 0, reason: '€'.repeat(MAX_INLINE_BODY / 3) },
    };
    expect((await signDraft(wide, place, coordinator.signer)).attachment).not.toBeNull();
  });
});

describe('a trust store', () => {
  test('with one key under two roles is refused', () => {
    const publicKey = publicKeyFromSeed(new SigningKey(new Uint8Array(32).fill(1)));
    const other = { ...coordinator.record, role: 'executor' as const, id: keyId('executor', publicKey) };
    expect(() => openTrustStore({ version: 1, keys: [coordinator.record, other] })).toThrowError(
      expect.objectContaining({ code: 'trust_invalid' }),
    );
  });

  test('with an id that does not fit its key is refused', () => {
    expect(() => openTrustStore({ version: 1, keys: [{ ...coordinator.record, id: 'a'.repeat(64) }] })).toThrowError(
      expect.objectContaining({ code: 'trust_invalid' }),
    );
  });

  test('with a small-order key is refused', () => {
    const record = { ...coordinator.record, public_key: `01${'0'.repeat(62)}` };
    const id = keyId('coordinator', new Uint8Array(32).fill(1, 0, 1));
    expect(() => openTrustStore({ version: 1, keys: [{ ...record, id }] })).toThrowError(
      expect.objectContaining({ code: 'key_rejected' }),
    );
  });
});
