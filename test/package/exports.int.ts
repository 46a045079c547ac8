import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installPacked, ROOT, runModule } from './package.testkit.js';

/** RFC 8032 section 7.1, TEST 2, and what the ledger functions say of small values that anyone can check. */
const USES_THE_LEDGER = `
const ledger = await import('truss-eval/ledger');
const noble = await import('truss-eval/ledger/noble');
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, 'hex'));
const hex = (b) => Buffer.from(b).toString('hex');
const key = bytes('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c');
const signature = bytes('92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00');
const flipped = Uint8Array.from(signature, (b, i) => (i === 40 ? b ^ 1 : b));
const strict = ({ admitPublicKey, verifySignature }) => {
  const admitted = admitPublicKey(key);
  let refused = false;
  try { admitPublicKey(new Uint8Array(32)); } catch { refused = true; }
  return [verifySignature(admitted, bytes('72'), signature), verifySignature(admitted, bytes('72'), flipped), refused];
};
const text = (b) => new TextEncoder().encode(b);
let lenient = true;
try { ledger.parseCanonicalJson(text('{ "a":1}')); } catch { lenient = false; }
const leaves = [1, 2, 3].map((n) => new Uint8Array(32).fill(n));
const root = ledger.merkleRoot(leaves);
const root2 = ledger.merkleRoot(leaves.slice(0, 2));
const proof = ledger.inclusionProof(leaves, 2);
const size1 = 2;
console.log(JSON.stringify({
  sameCode: ledger.verifySignature === noble.verifySignature,
  native: strict(ledger),
  noble: strict(noble),
  canonical: ledger.canonicalJson({ b: 1e21 / 1e21, a: [true, null, '\\u20ac'] }),
  parsed: ledger.parseCanonicalJson(text('{"a":1}')),
  lenient,
  entryHash: /^[0-9a-f]{64}$/.test(ledger.entryHash({ payloadType: 't', payload: text('{}'), signature })),
  empty: hex(ledger.merkleRoot([])),
  included: ledger.verifyInclusion({ index: 2, size: 3, leafHash: ledger.leafHash(leaves[2]), proof, root }),
  elsewhere: ledger.verifyInclusion({ index: 1, size: 3, leafHash: ledger.leafHash(leaves[2]), proof, root }),
  consistent: ledger.verifyConsistency({ size1, size2: 3, proof: ledger.consistencyProof(leaves, size1), root1: root2, root2: root }),
  rewritten: ledger.verifyConsistency({ size1, size2: 3, proof: ledger.consistencyProof(leaves, size1), root1: root, root2: root }),
}));
`;
const LEDGER_ANSWERS = {
  sameCode: false,
  native: [true, false, true],
  noble: [true, false, true],
  canonical: '{"a":[true,null,"€"],"b":1}',
  parsed: { a: 1 },
  lenient: false,
  entryHash: true,
  empty: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  included: true,
  elsewhere: false,
  consistent: true,
  rewritten: false,
};

const USES_VERIFICATION = `
const { verifyEvaluation } = await import('truss-eval/verification');
const { keyId, publicKeyFromSeed } = await import('truss-eval/ledger');
const publicKey = publicKeyFromSeed(new Uint8Array(32).fill(1));
const keys = { version: 1, keys: [{
  id: keyId('coordinator', publicKey), role: 'coordinator', operator: 'test', status: 'active', accepted_heads: [],
  public_key: Buffer.from(publicKey).toString('hex'),
}] };
const { result } = await verifyEvaluation({ evaluation: 'ev_' + '0'.repeat(32), records: [], keys, attachment: async () => null });
console.log(JSON.stringify(result));
`;

describe('the package in its own checkout', () => {
  test('truss-eval/ledger and truss-eval/ledger/noble answer alike by self-reference', async () => {
    expect(await runModule(ROOT, USES_THE_LEDGER)).toEqual(LEDGER_ANSWERS);
  });

  test('with the condition of browsers the ledger runs on the noble profile and gives the same answers', async () => {
    expect(await runModule(ROOT, USES_THE_LEDGER, '--conditions=browser')).toEqual({
      ...LEDGER_ANSWERS,
      sameCode: true,
    });
  });
});

describe('the package as npm publishes it, in a project of its own', () => {
  let installed: Awaited<ReturnType<typeof installPacked>>;
  beforeAll(async () => {
    installed = await installPacked();
  });
  afterAll(() => rmSync(installed.project, { recursive: true, force: true }));

  test('truss-eval/ledger and truss-eval/ledger/noble work', async () => {
    expect(await runModule(installed.project, USES_THE_LEDGER)).toEqual(LEDGER_ANSWERS);
  });

  test('verifyEvaluation of truss-eval/verification finds no evaluation in no records', async () => {
    expect(await runModule(installed.project, USES_VERIFICATION)).toBe('not_found');
  });

  test('nothing but the named entry points can be imported', async () => {
    const source = `console.log(JSON.stringify(await import('truss-eval/dist/libs/ledger/src/jcs.js').then(() => 'open', (e) => e.code)))`;
    expect(await runModule(installed.project, source)).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  test('holds the build, the command and the licence, and no test, testkit or benchmark', () => {
    expect(installed.files).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'bin/truss.js', 'dist/libs/ledger/src/index.d.ts']),
    );
    expect(installed.files.filter((path) => /\.(unit|int|e2e|testkit)\.|^dist\/bench|tsbuildinfo$/.test(path))).toEqual(
      [],
    );
  });
});
