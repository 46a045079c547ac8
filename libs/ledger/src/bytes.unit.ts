import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concatBytes, equalBytes, fromBase64, fromHex, toBase64, toHex, utf8, utf8Decode } from './bytes.js';

const badEncoding = expect.objectContaining({ name: 'LedgerError', code: 'bad_encoding' });

describe('hex', () => {
  test('agrees with Node on all bytes, both ways', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        const hex = toHex(bytes);
        expect(hex).toBe(Buffer.from(bytes).toString('hex'));
        expect(fromHex(hex)).toEqual(bytes);
      }),
    );
  });

  test.each(['0', '0A', 'AB', '0g', 'g0', '0x', ' 00', '00 ', '00\n', 'é0', '０0', '\0\0'])('refuses %j', (hex) => {
    expect(() => fromHex(hex)).toThrow(badEncoding);
  });

  test('refuses another length than the one asked for', () => {
    expect(fromHex('00ff', 2)).toEqual(Uint8Array.of(0, 255));
    expect(() => fromHex('00ff', 3)).toThrow(badEncoding);
  });
});

describe('base64', () => {
  test('agrees with Node on all bytes, both ways', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        const text = toBase64(bytes);
        expect(text).toBe(Buffer.from(bytes).toString('base64'));
        expect(fromBase64(text)).toEqual(bytes);
      }),
    );
  });

  test('accepts a text only if it is what the bytes encode to', () => {
    const digits = fc.string({ unit: fc.constantFrom(...'AEQgwBz/+=-_ \n'), maxLength: 8 });
    fc.assert(
      fc.property(digits, (text) => {
        let bytes: Uint8Array;
        try {
          bytes = fromBase64(text);
        } catch (error) {
          expect(error).toEqual(badEncoding);
          // A text that Node writes back unchanged is canonical, so the refusal would have been wrong.
          expect(Buffer.from(text, 'base64').toString('base64')).not.toBe(text);
          return;
        }
        expect(toBase64(bytes)).toBe(text);
      }),
      { numRuns: 5000 },
    );
  });

  test.each([
    'QQ',
    'QQ=',
    'QR==',
    'QUJ=',
    'QUL=',
    '====',
    'Q===',
    'QQ==QQ==',
    'QQ==\n',
    ' QQ==',
    'Q-==',
    'Q_==',
    'QUJD====',
    'é===',
  ])('refuses %j', (text) => {
    expect(() => fromBase64(text)).toThrow(badEncoding);
  });
});

describe('UTF-8', () => {
  test.each([
    ['a lone continuation', [0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['past U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
    ['a cut sequence', [0xe2, 0x82]],
  ])('refuses %s', (_, bytes) => {
    expect(() => utf8Decode(Uint8Array.from(bytes))).toThrow(badEncoding);
  });

  test('keeps a byte order mark, which would otherwise vanish unnoticed', () => {
    expect(utf8Decode(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41))).toBe('\ufeffA');
  });

  test('refuses to write a lone surrogate instead of replacing it', () => {
    expect(() => utf8('\ud800')).toThrow(badEncoding);
    expect(utf8('\u{1f600}')).toEqual(Uint8Array.of(0xf0, 0x9f, 0x98, 0x80));
  });
});

test('concatBytes copies in order, and equalBytes compares length and content', () => {
  const first = Uint8Array.of(1, 2);
  const whole = concatBytes(first, new Uint8Array(), Uint8Array.of(3));
  first[0] = 9;
  expect(whole).toEqual(Uint8Array.of(1, 2, 3));
  expect(equalBytes(whole, Uint8Array.of(1, 2, 3))).toBe(true);
  expect(equalBytes(whole, Uint8Array.of(1, 2, 4))).toBe(false);
  expect(equalBytes(whole, Uint8Array.of(1, 2))).toBe(false);
  expect(equalBytes(Uint8Array.of(1, 2), whole)).toBe(false);
});
