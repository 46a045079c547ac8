import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Contract } from '#lib/contract';
import { readTrustStore, trustFile } from '#lib/key-store';
import { type AttachmentRef, canonicalJson, type KeyRing, openTrustStore, sha256Hex, utf8 } from '#lib/ledger';
import { type LessonProof, parseBundle, recallPolicy, verifyLessonProof } from '#lib/lessons';
import { keysFolder } from '../database.js';
import { usageError } from '../exit-codes.js';

/**
 * Reads a bundle, and judges each of its lessons by the trust store of the database and the gates of the contract that are to use them. Writes nothing.
 * @throws CliError, LessonError, KeyStoreError
 */
export async function readStartingLessons(
  file: string,
  db: string,
  contract: Pick<Contract, 'learning' | 'panel'>,
): Promise<LessonProof[]> {
  const proofs = await proofsOf(file);
  const trusted = trustFile(keysFolder(db));
  if (!existsSync(trusted)) {
    throw usageError(
      `nobody is trusted yet to have signed the lessons of ${file}, because ${trusted} does not exist: ` +
        'use the --db that the lessons come from',
    );
  }
  assertVerified(proofs, file, openTrustStore(readTrustStore(trusted)), contract);
  return proofs;
}

/** The same by keys that are at hand. @throws CliError, LessonError */
export async function readLessonsOf(
  file: string,
  keys: KeyRing,
  contract: Pick<Contract, 'learning' | 'panel'>,
): Promise<LessonProof[]> {
  const proofs = await proofsOf(file);
  assertVerified(proofs, file, keys, contract);
  return proofs;
}

async function proofsOf(file: string): Promise<LessonProof[]> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(file);
  } catch (cause) {
    throw usageError(
      `the bundle of lessons ${file} cannot be read: check the path and that it is a file of yours`,
      cause,
    );
  }
  const proofs = parseBundle(bytes);
  if (proofs.length > 0) return proofs;
  throw usageError(`the bundle ${file} holds no lesson: leave --lessons out to start from none`);
}

function assertVerified(
  proofs: readonly LessonProof[],
  file: string,
  keys: KeyRing,
  contract: Pick<Contract, 'learning' | 'panel'>,
): void {
  const policy = { keys, ...recallPolicy(contract) };
  for (const [at, proof] of proofs.entries()) {
    const judged = verifyLessonProof(proof, policy);
    if (judged.ok) continue;
    throw usageError(
      `lesson ${at + 1} of ${file} does not verify: ${judged.reason}. Export it again, or use the --db that it comes from`,
    );
  }
}

/** The line of a bundle that holds this lesson: what the plan pins. */
export function proofBytes(proof: LessonProof): Uint8Array {
  return utf8(canonicalJson(proof));
}

/** How the plan names it: by the hash of that line. */
export function attachmentOf(proof: LessonProof): AttachmentRef {
  const bytes = proofBytes(proof);
  return { sha256: sha256Hex(bytes), size: bytes.length };
}
