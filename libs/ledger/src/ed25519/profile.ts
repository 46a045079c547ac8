import { fromHex, toHex } from '../bytes.js';

/** The order L of the base point, RFC 8032 section 5.1, little endian. */
const ORDER = fromHex('edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010');

/** The y coordinates (little endian) of the eight points whose order divides 8. */
const SMALL_ORDER_Y = new Set([
  '0100000000000000000000000000000000000000000000000000000000000000', // 1: the identity
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', // p-1: order 2
  '0000000000000000000000000000000000000000000000000000000000000000', // 0: order 4
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05', // order 8
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', // order 8
]);

/** Whether 32 bytes encode a y below p = 2^255 - 19. (x = 0 with the sign bit set is the other bad form: {@link hasSmallOrder} has both.) */
export function isCanonicalY(encoded: Uint8Array): boolean {
  if (encoded.length !== 32) return false;
  if (((encoded[31] ?? 0) & 0x7f) !== 0x7f) return true;
  for (let index = 30; index > 0; index--) if (encoded[index] !== 0xff) return true;
  return (encoded[0] ?? 0) < 0xed;
}

/** Whether a point with canonical y has an order that divides 8, whatever its sign bit. By comparison, without curve arithmetic. */
export function hasSmallOrder(encoded: Uint8Array): boolean {
  // Each of the five ends in one of these bytes once the sign bit is gone; nearly every signature is done here.
  const top = (encoded[31] ?? 0) & 0x7f;
  if (top !== 0x00 && top !== 0x05 && top !== 0x7a && top !== 0x7f) return false;
  const y = Uint8Array.from(encoded);
  y[31] = top;
  return SMALL_ORDER_Y.has(toHex(y));
}

/** Whether a 64-byte signature has S < L, and R canonical and not of small order. The equation is still to be checked. */
export function isWellFormedSignature(signature: Uint8Array): boolean {
  if (!(signature instanceof Uint8Array) || signature.length !== 64) return false;
  const encodedR = signature.subarray(0, 32);
  return isBelowOrder(signature.subarray(32)) && isCanonicalY(encodedR) && !hasSmallOrder(encodedR);
}

function isBelowOrder(scalar: Uint8Array): boolean {
  for (let index = 31; index >= 0; index--) {
    const difference = (scalar[index] ?? 0) - (ORDER[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
