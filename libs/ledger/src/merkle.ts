import { equalBytes } from './bytes.js';
import { sha256 } from './sha256.js';

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);
const HASH_BYTES = 32;

/** RFC 6962 section 2.1: SHA-256(0x00 ‖ data). In a ledger the data of a leaf is the 32-byte entry hash. */
export function leafHash(data: Uint8Array): Uint8Array {
  return sha256(LEAF, data);
}

/** RFC 6962 section 2.1: SHA-256(0x01 ‖ left ‖ right). */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256(NODE, left, right);
}

/** The RFC 6962 tree over entry hashes, built as they come. Its state is one hash per set bit of `size`. */
export class MerkleTree {
  /** Roots of the complete subtrees, largest first. */
  readonly #subtrees: Uint8Array[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  append(entryHash: Uint8Array): void {
    let hash = leafHash(entryHash);
    for (let rest = this.#size; rest % 2 === 1; rest = (rest - 1) / 2) {
      hash = nodeHash(this.#subtrees.pop() as Uint8Array, hash);
    }
    this.#subtrees.push(hash);
    this.#size++;
  }

  /** The root; of an empty tree SHA-256 of nothing. */
  root(): Uint8Array {
    const [last, ...larger] = this.#subtrees.toReversed();
    if (last === undefined) return sha256();
    return larger.reduce((right, left) => nodeHash(left, right), last);
  }
}

/** The Merkle root (RFC 6962 MTH) over entry hashes in order. */
export function merkleRoot(entryHashes: Iterable<Uint8Array>): Uint8Array {
  const tree = new MerkleTree();
  for (const entryHash of entryHashes) tree.append(entryHash);
  return tree.root();
}

/**
 * RFC 6962 section 2.1.1: the siblings from the leaf up.
 * @param index 0-based
 * @throws RangeError unless 0 <= index < entryHashes.length
 */
export function inclusionProof(entryHashes: readonly Uint8Array[], index: number): Uint8Array[] {
  if (!isCount(index) || index >= entryHashes.length) throw new RangeError('Ask for an entry that is in the tree.');
  if (entryHashes.length === 1) return [];
  const split = splitPoint(entryHashes.length);
  const left = entryHashes.slice(0, split);
  const right = entryHashes.slice(split);
  return index < split
    ? [...inclusionProof(left, index), merkleRoot(right)]
    : [...inclusionProof(right, index - split), merkleRoot(left)];
}

/** What {@link verifyInclusion} needs: a 0-based index, the number of leaves, and hashes of 32 bytes. */
export type Inclusion = {
  readonly index: number;
  readonly size: number;
  readonly leafHash: Uint8Array;
  readonly proof: readonly Uint8Array[];
  readonly root: Uint8Array;
};

/** Whether the leaf is at that index of the tree with that root (RFC 9162 section 2.1.3.2). Never throws. */
export function verifyInclusion({ index, size, leafHash: leaf, proof, root }: Inclusion): boolean {
  if (!isCount(index) || !isCount(size) || index >= size || ![leaf, ...proof].every(isHash)) return false;
  let node = index;
  let last = size - 1;
  let hash = leaf;
  for (const sibling of proof) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      hash = nodeHash(sibling, hash);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, half(last)];
    } else {
      hash = nodeHash(hash, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && equalBytes(hash, root);
}

/**
 * RFC 6962 section 2.1.2: proof that the tree over the first `size1` entries is a prefix of the tree over all.
 * @throws RangeError unless 0 < size1 <= entryHashes.length
 */
export function consistencyProof(entryHashes: readonly Uint8Array[], size1: number): Uint8Array[] {
  if (!isCount(size1) || size1 === 0 || size1 > entryHashes.length) {
    throw new RangeError('Ask for a size between 1 and that of the tree.');
  }
  return subProof(entryHashes, size1, true);
}

function subProof(entryHashes: readonly Uint8Array[], size1: number, isWholeOldTree: boolean): Uint8Array[] {
  if (size1 === entryHashes.length) return isWholeOldTree ? [] : [merkleRoot(entryHashes)];
  const split = splitPoint(entryHashes.length);
  const left = entryHashes.slice(0, split);
  const right = entryHashes.slice(split);
  return size1 <= split
    ? [...subProof(left, size1, isWholeOldTree), merkleRoot(right)]
    : [...subProof(right, size1 - split, false), merkleRoot(left)];
}

/** What {@link verifyConsistency} needs: two sizes in leaves and their roots. */
export type Consistency = {
  readonly size1: number;
  readonly size2: number;
  readonly proof: readonly Uint8Array[];
  readonly root1: Uint8Array;
  readonly root2: Uint8Array;
};

/** Whether the first tree is a prefix of the second (RFC 9162 section 2.1.4.2). A proof from an empty tree proves nothing: false. Never throws. */
export function verifyConsistency({ size1, size2, proof, root1, root2 }: Consistency): boolean {
  if (!isCount(size1) || !isCount(size2) || size1 === 0 || size1 > size2) return false;
  if (size1 === size2) return proof.length === 0 && equalBytes(root1, root2);
  if (![root1, root2, ...proof].every(isHash)) return false;
  const path = isPowerOfTwo(size1) ? [root1, ...proof] : [...proof];
  const first = path.shift();
  if (first === undefined) return false;
  let node = size1 - 1;
  let last = size2 - 1;
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  let old = first;
  let whole = first;
  for (const sibling of path) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      old = nodeHash(sibling, old);
      whole = nodeHash(sibling, whole);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, half(last)];
    } else {
      whole = nodeHash(whole, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && equalBytes(old, root1) && equalBytes(whole, root2);
}

/** The largest power of two below `size`, for size > 1. */
function splitPoint(size: number): number {
  let power = 1;
  while (power * 2 < size) power *= 2;
  return power;
}

function half(value: number): number {
  return Math.floor(value / 2);
}

function isPowerOfTwo(value: number): boolean {
  return Number.isInteger(Math.log2(value));
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function isHash(value: Uint8Array): boolean {
  return value instanceof Uint8Array && value.length === HASH_BYTES;
}
