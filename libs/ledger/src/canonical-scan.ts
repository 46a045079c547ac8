/** Arrays and objects within one another, at most. */
export const MAX_JSON_DEPTH = 64;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const LETTER_E = 0x65;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Integers of so many digits are within 2^53 - 1. */
const MAX_DIGITS = 15;

/** What stands outside of strings: no white space, no fraction, no exponent in capitals. */
const OUTSIDE = new Uint8Array(256);
for (const character of '{}[]:,-0123456789truefalsn') OUTSIDE[character.charCodeAt(0)] = 1;

const isObject = new Uint8Array(MAX_JSON_DEPTH + 1);
const keyFrom = new Int32Array(MAX_JSON_DEPTH + 1);
const keyTo = new Int32Array(MAX_JSON_DEPTH + 1);

/**
 * Whether one look at the bytes shows that they are the RFC 8785 form of what they say, given that they are JSON in UTF-8, which is for the caller to find
 * out. False says nothing: a text with an escape, a fraction, a long number or a key that is not ASCII may be canonical too.
 */
export function isPlainlyCanonical(bytes: Uint8Array): boolean {
  let depth = 0;
  let beforeKey = false;
  let previous = 0;
  let digits = 0;
  isObject[0] = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      const from = at + 1;
      let all = 0;
      for (at = from; bytes[at] !== QUOTE; at++) {
        if (at >= bytes.length || bytes[at] === BACKSLASH) return false;
        all |= bytes[at] as number;
      }
      if (beforeKey) {
        if (all > 0x7f || !isAfter(bytes, from, at, keyFrom[depth] as number, keyTo[depth] as number)) return false;
        keyFrom[depth] = from;
        keyTo[depth] = at;
      }
      digits = 0;
      previous = byte;
      continue;
    }
    if (OUTSIDE[byte] === 0) return false;
    if (byte >= ZERO && byte <= NINE) {
      if ((byte === ZERO && previous === MINUS) || ++digits > MAX_DIGITS) return false;
    } else if (byte === LETTER_E && digits > 0) return false;
    else digits = 0;
    if (byte === COMMA) beforeKey = isObject[depth] === 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (depth === MAX_JSON_DEPTH) return false;
      depth++;
      beforeKey = byte === OPEN_OBJECT;
      isObject[depth] = beforeKey ? 1 : 0;
      keyTo[depth] = -1;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (depth === 0) return false;
      depth--;
      beforeKey = false;
    } else beforeKey = false;
    previous = byte;
  }
  return true;
}

/** Whether a key comes after the one before it, if there is one, in the order of bytes: for ASCII that of UTF-16. */
function isAfter(bytes: Uint8Array, from: number, to: number, beforeFrom: number, beforeTo: number): boolean {
  if (beforeTo === -1) return true;
  for (let at = from, before = beforeFrom; ; at++, before++) {
    if (at === to) return false;
    if (before === beforeTo) return true;
    const difference = (bytes[at] as number) - (bytes[before] as number);
    if (difference !== 0) return difference > 0;
  }
}
