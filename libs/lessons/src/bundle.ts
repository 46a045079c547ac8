import { canonicalJson, LedgerError, utf8Decode } from '#lib/ledger';
import { z } from 'zod';
import { LessonError } from './errors.js';
import { type LessonProof, lessonProofSchema } from './proof.js';

export const MAX_BUNDLE_BYTES = 64 * 1024 * 1024;
export const MAX_BUNDLE_LESSONS = 10_000;

/** A bundle of lessons: JSONL, one {@link LessonProof} a line as JCS text, in the order given. */
export function formatBundle(proofs: readonly LessonProof[]): string {
  return proofs.map((proof) => `${canonicalJson(proof)}\n`).join('');
}

/**
 * Reads a bundle: its shape only, each proof is still to be verified. Lines end in LF or CRLF; empty lines are left out.
 * @throws LessonError `bundle_too_large` over 64 MiB or 10,000 lessons, `bundle_malformed` with the line number (from 1)
 */
export function parseBundle(bytes: Uint8Array): LessonProof[] {
  if (bytes.length > MAX_BUNDLE_BYTES)
    throw new LessonError(
      'bundle_too_large',
      `A bundle has at most ${MAX_BUNDLE_BYTES} bytes, this one ${bytes.length}: split it.`,
    );
  const proofs: LessonProof[] = [];
  const lines = new Map<string, number>();
  for (const [at, line] of textOf(bytes).split('\n').entries()) {
    if (line.trim() === '') continue;
    if (proofs.length === MAX_BUNDLE_LESSONS)
      throw new LessonError(
        'bundle_too_large',
        `A bundle has at most ${MAX_BUNDLE_LESSONS} lessons: split it before line ${at + 1}.`,
      );
    const proof = parseLine(line, at + 1);
    const earlier = lines.get(proof.lesson);
    if (earlier !== undefined) throw malformed(at + 1, `it proves the lesson of line ${earlier} again: remove one`);
    lines.set(proof.lesson, at + 1);
    proofs.push(proof);
  }
  return proofs;
}

function textOf(bytes: Uint8Array): string {
  try {
    return utf8Decode(bytes);
  } catch (cause) {
    if (cause instanceof LedgerError)
      throw new LessonError('bundle_malformed', 'The bundle is not UTF-8 text: export it again.', { cause });
    throw cause;
  }
}

function parseLine(line: string, number: number): LessonProof {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw malformed(number, 'it is not JSON', cause);
  }
  const parsed = lessonProofSchema.safeParse(value);
  if (!parsed.success) throw malformed(number, z.prettifyError(parsed.error), parsed.error);
  return parsed.data;
}

function malformed(line: number, what: string, cause?: unknown): LessonError {
  return new LessonError('bundle_malformed', `Line ${line} of the bundle is no lesson with its proof: ${what}.`, {
    cause,
  });
}

/**
 * Reads the one proof of an attachment that a plan's starting lesson names.
 * @throws LessonError `bundle_malformed`
 */
export function readProof(bytes: Uint8Array): LessonProof {
  const [proof, ...more] = parseBundle(bytes);
  if (proof === undefined || more.length > 0) throw malformed(1, 'an attachment holds one lesson');
  return proof;
}
