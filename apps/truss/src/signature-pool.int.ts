import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fromHex, openTrustStore, utf8 } from '#lib/ledger';
import type { SignatureCheck, VerifierKey } from '#lib/verification';
import { coordinator, executor, SIGNERS, trust } from '../../../libs/verification/src/evaluation.testkit.js';
import { createSignaturePool, type SignaturePool } from './signature-pool.js';

const ring = openTrustStore(trust);
let checks: SignatureCheck[];
let pool: SignaturePool | undefined;

beforeAll(async () => {
  checks = await Promise.all(
    Array.from({ length: 3000 }, async (_, i): Promise<SignatureCheck> => {
      const signer = i % 2 === 0 ? coordinator : executor;
      const message = utf8(`message ${i} ${'x'.repeat(i % 700)}`);
      const signature = await signer.sign(message);
      const bad = i % 7 === 0;
      if (bad) signature[i % 64] = (signature[i % 64] as number) ^ 1;
      return { key: keyOf(signer.keyId), message, signature: i % 501 === 0 ? signature.slice(0, i % 64) : signature };
    }),
  );
});
afterEach(async () => {
  await pool?.close();
  pool = undefined;
});

function keyOf(id: string): VerifierKey {
  const key = ring.keys.find((one) => one.id === id);
  if (key === undefined) throw new Error('no such key');
  return { ...key, publicKey: fromHex(key.public_key), acceptedHeads: new Set() };
}

describe('the signature pool', () => {
  test('answers in the order asked, as one thread does', async () => {
    const expected = checks.map(({ key, message, signature }) => key.verify(message, signature));
    for (const inProcess of [0, 2000, 10_000]) {
      pool = createSignaturePool({ threads: 2, inProcess });
      const { verify } = pool;
      const batches = [checks.slice(0, 1000), checks.slice(1000, 1010), checks.slice(1010, 2500), checks.slice(2500)];
      const answers = await Promise.all(batches.map((batch) => verify(batch)));
      expect(answers.flat()).toEqual(expected);
      await pool.close();
    }
    expect(new Set(expected)).toEqual(new Set([true, false]));
  });

  test('refuses a right signature under another key', async () => {
    pool = createSignaturePool({ threads: 1, inProcess: 0 });
    const other = checks.map((check) => ({ ...check, key: keyOf(SIGNERS.projector.keyId) }));
    expect((await pool.verify(other)).includes(true)).toBe(false);
  });

  test('says so when a thread ended', async () => {
    pool = createSignaturePool({ threads: 1, inProcess: 0 });
    const asked = pool.verify(checks);
    await pool.close();
    await expect(asked).rejects.toThrow('ended before it answered');
  });
});
