import { beforeAll, describe, expect, test } from 'vitest';
import { utf8 } from '#lib/ledger';
import { keys } from '../../event-log/src/fixtures.testkit.js';
import { formatBundle, MAX_BUNDLE_BYTES, MAX_BUNDLE_LESSONS, parseBundle, readProof } from './bundle.js';
import { refNumbered, runWithLesson } from './fixtures.testkit.js';
import { buildLessonProof, type LessonProof } from './proof.js';
import { verifyLessonProof } from './verify-proof.js';

let proofs: LessonProof[];
beforeAll(async () => {
  const runs = await Promise.all([runWithLesson(), runWithLesson()]);
  proofs = runs.map(({ lesson, chain, anchor }) => buildLessonProof(lesson, chain, anchor));
});
const malformed = (line: number): unknown =>
  expect.objectContaining({ code: 'bundle_malformed', message: expect.stringContaining(`Line ${line} of the bundle`) });

describe('a bundle', () => {
  test('gives back its proofs in their order, and they still verify', () => {
    const back = parseBundle(utf8(formatBundle(proofs)));
    expect(back).toEqual(proofs);
    expect(back.map((proof) => verifyLessonProof(proof, { keys }).ok)).toEqual([true, true]);
  });

  test('may be empty, end without a line end, and have lines ended by CRLF', () => {
    expect(parseBundle(utf8(''))).toEqual([]);
    expect(parseBundle(utf8(formatBundle(proofs).trimEnd()))).toEqual(proofs);
    expect(parseBundle(utf8(formatBundle(proofs).replaceAll('\n', '\r\n')))).toEqual(proofs);
  });

  test('names the line that is no proof', () => {
    const [first] = formatBundle(proofs).split('\n');
    expect(() => parseBundle(utf8(`${first}\n\n{`))).toThrow(malformed(3));
    expect(() => parseBundle(utf8(`${first}\n{"v":1}`))).toThrow(malformed(2));
    expect(() => parseBundle(utf8(first!.replace('"v":1', '"v":2')))).toThrow(malformed(1));
    expect(() => parseBundle(utf8(first!.replace('"v":1', '"more":0,"v":1')))).toThrow(malformed(1));
  });

  test('does not hold one lesson twice', () => {
    expect(() => parseBundle(utf8(formatBundle([...proofs, proofs[0]!])))).toThrow(malformed(3));
  });

  test('is UTF-8', () => {
    expect(() => parseBundle(Uint8Array.of(0xff))).toThrow(expect.objectContaining({ code: 'bundle_malformed' }));
  });

  test('is refused over 64 MiB, before it is read, and over 10,000 lessons', () => {
    const tooLarge = expect.objectContaining({ code: 'bundle_too_large' });
    expect(() => parseBundle(new Uint8Array(MAX_BUNDLE_BYTES + 1))).toThrow(tooLarge);
    const small = { ...proofs[0]!, entries: proofs[0]!.entries.slice(0, 1) };
    const many = Array.from({ length: MAX_BUNDLE_LESSONS + 1 }, (_, n) => ({ ...small, lesson: refNumbered(n) }));
    expect(() => parseBundle(utf8(formatBundle(many)))).toThrow(tooLarge);
  });

  test('a proof by itself is one line of it, and no more', () => {
    expect(readProof(utf8(formatBundle(proofs.slice(0, 1)).trimEnd()))).toEqual(proofs[0]);
    expect(() => readProof(utf8(formatBundle(proofs)))).toThrow(malformed(1));
  });
});
