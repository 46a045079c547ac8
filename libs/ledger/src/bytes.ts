import { LedgerError } from './errors.js';

const HEX_ALPHABET = '0123456789abcdef';
/** Bytes at once: fewer arguments than any engine's limit for a call. */
const HEX_CHUNK = 4096;
const BASE64_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const INVALID = 255;

const hexDigits = decodingTable('0123456789abcdef');
const base64Digits = decodingTable(BASE64_ALPHABET);
const encoder = new TextEncoder();
// ignoreBOM keeps a byte order mark in the text: without it three bytes would vanish and the text still look canonical.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodingTable(alphabet: string): Uint8Array {
  const table = new Uint8Array(128).fill(INVALID);
  for (let digit = 0; digit < alphabet.length; digit++) table[alphabet.charCodeAt(digit)] = digit;
  return table;
}

function digitAt(table: Uint8Array, text: string, at: number): number {
  return table[text.charCodeAt(at)] ?? INVALID;
}

/** Lower-case hex of the bytes. */
export function toHex(bytes: Uint8Array): string {
  // From character codes and not by adding digits: V8 would keep a hash that was added up as 32 linked strings, 900 bytes instead of 90.
  let hex = '';
  for (let start = 0; start < bytes.length; start += HEX_CHUNK) {
    const codes: number[] = [];
    for (const byte of bytes.subarray(start, start + HEX_CHUNK)) {
      codes.push(HEX_ALPHABET.charCodeAt(byte >> 4), HEX_ALPHABET.charCodeAt(byte & 15));
    }
    hex += String.fromCharCode(...codes);
  }
  return hex;
}

/**
 * Reads lower-case hex.
 * @param length the number of bytes expected; any number when left out
 * @throws LedgerError `bad_encoding` on upper case, an odd length, any other character or another length
 */
export function fromHex(hex: string, length?: number): Uint8Array {
  if (hex.length % 2 !== 0) throw badEncoding('Write hex with two digits a byte.');
  const bytes = new Uint8Array(hex.length / 2);
  if (length !== undefined && bytes.length !== length) throw badEncoding(`Give ${2 * length} hex digits.`);
  for (let index = 0; index < bytes.length; index++) {
    const high = digitAt(hexDigits, hex, 2 * index);
    const low = digitAt(hexDigits, hex, 2 * index + 1);
    if (high === INVALID || low === INVALID) throw badEncoding('Write hex with the digits 0-9 and a-f only.');
    bytes[index] = high * 16 + low;
  }
  return bytes;
}

/** Base64 (RFC 4648 section 4) with padding. */
export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let index = 0; index < bytes.length; index += 3) {
    const [first = 0, second, third] = [bytes[index], bytes[index + 1], bytes[index + 2]];
    const group = (first << 16) | ((second ?? 0) << 8) | (third ?? 0);
    text += BASE64_ALPHABET.charAt(group >> 18) + BASE64_ALPHABET.charAt((group >> 12) & 63);
    text += second === undefined ? '=' : BASE64_ALPHABET.charAt((group >> 6) & 63);
    text += third === undefined ? '=' : BASE64_ALPHABET.charAt(group & 63);
  }
  return text;
}

/**
 * Reads base64 (RFC 4648 section 4), canonical only: padded, no white space, no URL alphabet, unused bits zero. So two texts never
 * mean the same bytes.
 * @throws LedgerError `bad_encoding`
 */
export function fromBase64(text: string): Uint8Array {
  if (text.length % 4 !== 0) throw badEncoding('Pad base64 to a multiple of four characters.');
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const digits = text.length - padding;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  let group = 0;
  let bits = 0;
  let written = 0;
  for (let index = 0; index < digits; index++) {
    const digit = digitAt(base64Digits, text, index);
    if (digit === INVALID) throw badEncoding('Write base64 with the standard alphabet, without spaces or line breaks.');
    group = ((group << 6) | digit) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[written++] = group >> bits;
    }
  }
  if ((group & ((1 << bits) - 1)) !== 0) throw badEncoding('Set the unused bits of the last base64 digit to zero.');
  return bytes;
}

/** UTF-8 of a text. @throws LedgerError `bad_encoding` on a lone surrogate, which UTF-8 cannot write */
export function utf8(text: string): Uint8Array {
  if (!text.isWellFormed()) throw badEncoding('Remove the lone surrogate: UTF-8 cannot write it.');
  return encoder.encode(text);
}

/** Text of UTF-8 bytes; a byte order mark stays in the text. @throws LedgerError `bad_encoding` on any byte that is not UTF-8 */
export function utf8Decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw badEncoding('Write the text in UTF-8.', cause);
  }
}

/** One array with the bytes of all parts in order. */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** Whether both have the same bytes. Not constant time: for public values only. */
export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false;
  return true;
}

function badEncoding(message: string, cause?: unknown): LedgerError {
  return new LedgerError('bad_encoding', message, cause === undefined ? undefined : { cause });
}
