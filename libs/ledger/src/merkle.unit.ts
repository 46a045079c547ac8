import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { equalBytes, fromBase64, toHex, utf8 } from './bytes.js';
import {
  consistencyProof,
  inclusionProof,
  leafHash,
  MerkleTree,
  merkleRoot,
  nodeHash,
  verifyConsistency,
  verifyInclusion,
} from './merkle.js';
import { sha256 } from './sha256.js';
import { vectorJson } from './vectors.testkit.js';

const LARGEST = 40;
const entryHashes = Array.from({ length: LARGEST }, (_, seq) => sha256(utf8(`entry ${seq}`)));
const sizes = Array.from({ length: LARGEST }, (_, index) => index + 1);

/** RFC 6962 section 2.1 word for word, as the reference. */
function treeHash(leaves: readonly Uint8Array[]): Uint8Array {
  const [first] = leaves;
  if (first === undefined) return sha256();
  if (leaves.length === 1) return leafHash(first);
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return nodeHash(treeHash(leaves.slice(0, split)), treeHash(leaves.slice(split)));
}

function flipped(hash: Uint8Array, bit: number): Uint8Array {
  return hash.map((byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
}

describe('published vectors', () => {
  type Case = { name: string; proof: string[] | null; wantErr: boolean };
  test('98 inclusion proofs hold or fail as they say', () => {
    type InclusionCase = Case & { leafIdx: number; treeSize: number; root: string; leafHash: string };
    const cases = vectorJson<InclusionCase[]>('merkle_inclusion.json');
    expect(cases).toHaveLength(98);
    const answers = cases.map(({ name, leafIdx: index, treeSize: size, ...rest }) => {
      const proof = (rest.proof ?? []).map(fromBase64);
      const holds = verifyInclusion({
        index,
        size,
        leafHash: fromBase64(rest.leafHash),
        proof,
        root: fromBase64(rest.root),
      });
      return [name, !holds];
    });
    expect(answers).toEqual(cases.map(({ name, wantErr }) => [name, wantErr]));
  });

  test('98 consistency proofs hold or fail as they say', () => {
    type ConsistencyCase = Case & { size1: number; size2: number; root1: string; root2: string };
    const cases = vectorJson<ConsistencyCase[]>('merkle_consistency.json');
    expect(cases).toHaveLength(98);
    const answers = cases.map(({ name, size1, size2, ...rest }) => {
      const proof = (rest.proof ?? []).map(fromBase64);
      const holds = verifyConsistency({
        size1,
        size2,
        proof,
        root1: fromBase64(rest.root1),
        root2: fromBase64(rest.root2),
      });
      return [name, !holds];
    });
    expect(answers).toEqual(cases.map(({ name, wantErr }) => [name, wantErr]));
  });
});

describe(`every tree of up to ${LARGEST} entries`, () => {
  test('has the root of RFC 6962, whether computed at once or as the entries come', () => {
    const tree = new MerkleTree();
    expect(toHex(tree.root())).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    for (const size of sizes) {
      tree.append(entryHashes[size - 1] as Uint8Array);
      expect(tree.size).toBe(size);
      expect(tree.root()).toEqual(treeHash(entryHashes.slice(0, size)));
      expect(merkleRoot(entryHashes.slice(0, size))).toEqual(tree.root());
    }
  });

  test('proves each of its entries, at its own place and size only', () => {
    for (const size of sizes) {
      const leaves = entryHashes.slice(0, size);
      const root = merkleRoot(leaves);
      for (let index = 0; index < size; index++) {
        const claim = {
          index,
          size,
          leafHash: leafHash(leaves[index] as Uint8Array),
          proof: inclusionProof(leaves, index),
          root,
        };
        expect(verifyInclusion(claim)).toBe(true);
        for (let other = 0; other < size; other++) {
          expect(verifyInclusion({ ...claim, index: other })).toBe(other === index);
        }
        expect(verifyInclusion({ ...claim, leafHash: leaves[index] as Uint8Array })).toBe(false);
        expect(verifyInclusion({ ...claim, proof: [...claim.proof, root] })).toBe(false);
        if (claim.proof.length > 0) expect(verifyInclusion({ ...claim, proof: claim.proof.slice(1) })).toBe(false);
      }
    }
  });

  test('is proved to extend each of its prefixes, and no other tree', () => {
    for (const size2 of sizes) {
      const leaves = entryHashes.slice(0, size2);
      const root2 = merkleRoot(leaves);
      for (let size1 = 1; size1 <= size2; size1++) {
        const root1 = merkleRoot(leaves.slice(0, size1));
        const claim = { size1, size2, proof: consistencyProof(leaves, size1), root1, root2 };
        expect(verifyConsistency(claim)).toBe(true);
        expect(verifyConsistency({ ...claim, root1: flipped(root1, size1) })).toBe(false);
        expect(verifyConsistency({ ...claim, root2: flipped(root2, size1) })).toBe(false);
        expect(verifyConsistency({ ...claim, proof: [...claim.proof, root2] })).toBe(false);
        if (claim.proof.length > 0) expect(verifyConsistency({ ...claim, proof: claim.proof.slice(1) })).toBe(false);
      }
    }
  });
});

test('no bit of a proof can change', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: LARGEST }), fc.nat(), fc.nat(), fc.nat(255), (size, at, step, bit) => {
      const leaves = entryHashes.slice(0, size);
      const root = merkleRoot(leaves);
      const index = at % size;
      const broken = (proof: Uint8Array[]) =>
        proof.map((hash, n) => (n === step % proof.length ? flipped(hash, bit) : hash));
      const leaf = leafHash(leaves[index] as Uint8Array);
      expect(verifyInclusion({ index, size, leafHash: leaf, proof: broken(inclusionProof(leaves, index)), root })).toBe(
        false,
      );
      const size1 = 1 + (at % (size - 1));
      const root1 = merkleRoot(leaves.slice(0, size1));
      const proof = broken(consistencyProof(leaves, size1));
      expect(verifyConsistency({ size1, size2: size, proof, root1, root2: root })).toBe(false);
    }),
  );
});

test('an entry hash and an inner node never stand for one another', () => {
  const [left, right] = [entryHashes[0] as Uint8Array, entryHashes[1] as Uint8Array];
  expect(equalBytes(merkleRoot([left, right]), nodeHash(left, right))).toBe(false);
  expect(equalBytes(merkleRoot([left, right]), leafHash(Uint8Array.from([...left, ...right])))).toBe(false);
});

test('proofs for what the tree has not are refused', () => {
  expect(() => inclusionProof(entryHashes, LARGEST)).toThrow(RangeError);
  expect(() => inclusionProof(entryHashes, -1)).toThrow(RangeError);
  expect(() => consistencyProof(entryHashes, 0)).toThrow(RangeError);
  expect(() => consistencyProof(entryHashes, LARGEST + 1)).toThrow(RangeError);
});
