import { Point } from '@noble/ed25519';
import { sha512 } from '@noble/hashes/sha2.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concatBytes, fromHex, toHex, utf8 } from '../bytes.js';
import { vectorJson } from '../vectors.testkit.js';
import * as native from './node.js';
import * as noble from './noble.js';
import { isWellFormedSignature } from './profile.js';

const implementations = [
  { name: 'node:crypto', ed25519: native },
  { name: '@noble/ed25519', ed25519: noble },
];
const keyRejected = expect.objectContaining({ name: 'LedgerError', code: 'key_rejected' });
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const seed = fromHex('11'.repeat(32));
const publicKey = native.publicKeyFromSeed(seed);
const message = utf8('message');

type Signed = { pub: string; msg: string; sig: string };
type Reproducible = Signed & { secret: string };

const rfc8032 = vectorJson<{ cases: (Signed & { priv: string })[] }>('ed25519/rfc8032_sec7_1.json').cases;
const signInput = vectorJson<(Signed & { seed: string })[]>('ed25519/sign_input_first128.json');
const reproducible: Reproducible[] = [
  ...rfc8032.map((vector) => ({ ...vector, secret: vector.priv })),
  ...signInput.map((vector) => ({ ...vector, secret: vector.seed })),
];
type WycheproofGroup = {
  publicKey: { pk: string };
  tests: { tcId: number; msg: string; sig: string; result: string }[];
};
const wycheproof = vectorJson<{ testGroups: WycheproofGroup[] }>(
  'ed25519/wycheproof_ed25519_test.json',
).testGroups.flatMap(({ publicKey: { pk }, tests }) => tests.map((vector) => ({ ...vector, pub: pk })));
const speccheck = vectorJson<{ message: string; pub_key: string; signature: string }[]>('ed25519/speccheck_cases.json');

/** The 14 encodings, canonical or not, of the eight points whose order divides 8. */
const lowOrder = ['01', 'ec', 'ed', 'ee', '00', '26', 'c7'].flatMap((first) => {
  const tail = { '01': '00'.repeat(31), '00': '00'.repeat(31) }[first] ?? `${'ff'.repeat(30)}7f`;
  const y = {
    '26': '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    c7: 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  }[first];
  const bytes = fromHex(y ?? first + tail);
  const signed = Uint8Array.from(bytes);
  signed[31] = (signed[31] ?? 0) | 0x80;
  return [bytes, signed];
});

function toScalar(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(bytes.toReversed())}`);
}

function fromScalar(scalar: bigint): Uint8Array {
  return fromHex(scalar.toString(16).padStart(64, '0')).toReversed();
}

function holds(ed25519: typeof native | typeof noble, vector: Signed): boolean {
  return ed25519.verifySignature(fromHex(vector.pub), fromHex(vector.msg), fromHex(vector.sig));
}

describe.each(implementations)('Ed25519 by $name', ({ ed25519 }) => {
  test('makes and accepts the 133 signatures of RFC 8032 and sign.input', async () => {
    expect(reproducible).toHaveLength(133);
    for (const vector of reproducible) {
      const secret = fromHex(vector.secret);
      expect(toHex(ed25519.publicKeyFromSeed(secret))).toBe(vector.pub);
      expect(toHex(ed25519.sign(secret, fromHex(vector.msg)))).toBe(vector.sig);
      expect(holds(ed25519, vector)).toBe(true);
    }
    const [vector] = reproducible as [Reproducible];
    const key = new ed25519.SigningKey(fromHex(vector.secret));
    expect(toHex(await ed25519.signAsync(key, fromHex(vector.msg)))).toBe(vector.sig);
  });

  test('answers the 151 Wycheproof cases as they say', async () => {
    expect(wycheproof).toHaveLength(151);
    const expected = wycheproof.map(({ tcId, result }) => [tcId, result === 'valid']);
    expect(wycheproof.map((vector) => [vector.tcId, holds(ed25519, vector)])).toEqual(expected);
    const answers = wycheproof.map(async ({ tcId, pub, msg, sig }) => [
      tcId,
      await ed25519.verifySignatureAsync(fromHex(pub), fromHex(msg), fromHex(sig)),
    ]);
    expect(await Promise.all(answers)).toEqual(expected);
  });

  test('accepts none of the 12 cases on which libraries disagree', () => {
    expect(speccheck).toHaveLength(12);
    const accepted = speccheck.filter(({ pub_key, message: msg, signature }) =>
      holds(ed25519, { pub: pub_key, msg, sig: signature }),
    );
    expect(accepted).toEqual([]);
  });

  test('refuses every valid signature with L added to S', () => {
    const valid = [...reproducible, ...wycheproof.filter(({ result }) => result === 'valid')];
    expect(valid).toHaveLength(221);
    for (const vector of valid) {
      const signature = fromHex(vector.sig);
      const larger = toScalar(signature.subarray(32)) + L;
      const malleated = concatBytes(signature.subarray(0, 32), fromScalar(larger));
      expect(ed25519.verifySignature(fromHex(vector.pub), fromHex(vector.msg), malleated)).toBe(false);
    }
  });

  test('admits no key of small order in any of its 14 encodings, and takes none for R', () => {
    expect(new Set(lowOrder.map(toHex)).size).toBe(14);
    for (const encoded of lowOrder) {
      expect(() => ed25519.admitPublicKey(encoded)).toThrow(keyRejected);
      // With k = SHA-512(R ‖ A ‖ M) this S solves [8][S]B = [8](R + [k]A), so a verifier with cofactor accepts it.
      const scalar = secretScalar(seed);
      const k = toScalar(sha512(concatBytes(encoded, publicKey, message))) % L;
      const forged = concatBytes(encoded, fromScalar((k * scalar) % L));
      expect(ed25519.verifySignature(publicKey, message, forged)).toBe(false);
    }
  });

  test('admits no key with a torsion component, though it is no point of small order', () => {
    const torsion = Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05');
    let mixed = Point.fromBytes(publicKey);
    for (let multiple = 1; multiple < 8; multiple++) {
      mixed = mixed.add(torsion);
      expect(() => ed25519.admitPublicKey(mixed.toBytes())).toThrow(keyRejected);
      expect(ed25519.verifySignature(mixed.toBytes(), message, ed25519.sign(seed, message))).toBe(false);
    }
    expect(mixed.add(torsion).toBytes()).toEqual(publicKey);
  });

  test('refuses an R with a torsion component, which a verifier with cofactor accepts', () => {
    const torsion = Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05');
    const nonce = 12345n;
    const encodedR = Point.BASE.multiply(nonce).add(torsion).toBytes();
    const k = toScalar(sha512(concatBytes(encodedR, publicKey, message))) % L;
    const signature = concatBytes(encodedR, fromScalar((nonce + k * secretScalar(seed)) % L));
    expect(ed25519.verifySignature(publicKey, message, signature)).toBe(false);
  });

  test.each([
    ['no bytes', ''],
    ['31 bytes', '00'.repeat(31)],
    ['33 bytes', `${toHex(publicKey)}00`],
    ['no point of the curve', `02${'00'.repeat(31)}`],
    ['y = p + 3', `f0${'ff'.repeat(30)}7f`],
  ])('admits no key of %s', (_, hex) => {
    expect(() => ed25519.admitPublicKey(fromHex(hex))).toThrow(keyRejected);
    expect(ed25519.verifySignature(fromHex(hex), message, ed25519.sign(seed, message))).toBe(false);
  });

  test('answers false on signatures of another length, and throws on none', () => {
    const signature = ed25519.sign(seed, message);
    expect(ed25519.verifySignature(publicKey, message, signature)).toBe(true);
    for (const length of [0, 32, 63, 65, 128]) {
      const cut = new Uint8Array(length);
      cut.set(signature.subarray(0, length));
      expect(ed25519.verifySignature(publicKey, message, cut)).toBe(false);
    }
  });

  test('an admitted key stays what it was when the caller changes the bytes', () => {
    const bytes = Uint8Array.from(publicKey);
    const admitted = ed25519.admitPublicKey(bytes);
    bytes.fill(0);
    admitted.bytes.fill(0);
    expect(admitted.bytes).toEqual(publicKey);
    expect(ed25519.verifySignature(admitted, message, ed25519.sign(seed, message))).toBe(true);
  });

  test('a signing key shows its seed in no text', () => {
    const key = new ed25519.SigningKey(seed);
    expect(JSON.stringify(key) + String(key) + Object.keys(key).join()).not.toMatch(/11|17/);
    expect(() => ed25519.sign(seed.subarray(1), message)).toThrow(keyRejected);
  });
});

test('both implementations agree on signatures with any one bit flipped: no such signature, key or message passes', () => {
  const whole = concatBytes(publicKey, native.sign(seed, message), message);
  fc.assert(
    fc.property(fc.nat(whole.length * 8 - 1), (bit) => {
      const changed = Uint8Array.from(whole);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const args = [changed.subarray(0, 32), changed.subarray(96), changed.subarray(32, 96)] as const;
      expect([native.verifySignature(...args), noble.verifySignature(...args)]).toEqual([false, false]);
    }),
  );
});

test('an R with y from p on is refused before any equation, y = p - 2 is not', () => {
  const withR = (first: string) => concatBytes(fromHex(`${first}${'ff'.repeat(30)}7f`), fromScalar(1n));
  expect(['ed', 'ee', 'f0', 'ff'].map((first) => isWellFormedSignature(withR(first)))).toEqual([
    false,
    false,
    false,
    false,
  ]);
  expect(isWellFormedSignature(withR('eb'))).toBe(true);
});

test('both implementations sign alike', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.uint8Array({ maxLength: 300 }), (secret, text) => {
      expect(noble.sign(secret, text)).toEqual(native.sign(secret, text));
      expect(noble.publicKeyFromSeed(secret)).toEqual(native.publicKeyFromSeed(secret));
    }),
    { numRuns: 30 },
  );
});

/** RFC 8032 section 5.1.5, mod L. */
function secretScalar(secret: Uint8Array): bigint {
  const head = sha512(secret).slice(0, 32);
  head[0] = (head[0] ?? 0) & 248;
  head[31] = ((head[31] ?? 0) & 127) | 64;
  return toScalar(head) % L;
}
