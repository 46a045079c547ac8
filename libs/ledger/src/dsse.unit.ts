import { expect, test } from 'vitest';
import { utf8, utf8Decode } from './bytes.js';
import { pae } from './dsse.js';
import { vectorJson } from './vectors.testkit.js';

test('pae encodes the example of the DSSE protocol', () => {
  const cases = vectorJson<{ payloadType: string; body_utf8: string; pae_utf8: string }[]>('dsse_pae.json');
  expect(cases).toHaveLength(1);
  for (const { payloadType, body_utf8, pae_utf8 } of cases) {
    expect(utf8Decode(pae(payloadType, utf8(body_utf8)))).toBe(pae_utf8);
  }
});

test('pae counts bytes, not characters', () => {
  expect(utf8Decode(pae('é', utf8('\u{1f600}')))).toBe('DSSEv1 2 é 4 \u{1f600}');
});

test('pae lets no bytes move between type and payload', () => {
  expect(pae('a b', utf8('c'))).not.toEqual(pae('a', utf8('b c')));
  expect(pae('a 1 b', utf8(''))).not.toEqual(pae('a', utf8('b')));
});
