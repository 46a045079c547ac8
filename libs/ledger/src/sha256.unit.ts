import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toHex, utf8 } from './bytes.js';
import * as noble from './ed25519/noble.js';
import { sha256, sha256Hex } from './sha256.js';

test('sha256 gives the digests of FIPS 180-4, of nothing too', () => {
  expect(toHex(sha256())).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  expect(toHex(sha256(utf8('abc')))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('sha256 of parts is that of their concatenation, alike in both implementations, as a plain Uint8Array', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 4 }), (parts) => {
      const digest = sha256(...parts);
      expect(digest).toEqual(sha256(Uint8Array.from(parts.flatMap((part) => [...part]))));
      expect(digest).toEqual(noble.sha256(...parts));
      expect([sha256Hex(...parts), noble.sha256Hex(...parts)]).toEqual([toHex(digest), toHex(digest)]);
      expect(digest.constructor).toBe(Uint8Array);
    }),
  );
});
