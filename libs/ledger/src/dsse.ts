import { utf8 } from './bytes.js';

/**
 * DSSE v1 pre-authentication encoding, what a signature covers: `"DSSEv1" SP LEN(type) SP type SP LEN(payload) SP payload`, lengths in
 * bytes as decimal ASCII (secure-systems-lab/dsse, protocol.md).
 */
export function pae(payloadType: string, payload: Uint8Array): Uint8Array {
  const whole = new Uint8Array(paeLength(payloadType, payload));
  writePae(payloadType, payload, whole, 0);
  return whole;
}

/** Bytes of the encoding. */
export function paeLength(payloadType: string, payload: Uint8Array): number {
  return headOf(payloadType).length + String(payload.length).length + 1 + payload.length;
}

/** Writes the encoding into a buffer that has room for it, and says where it ends. */
export function writePae(payloadType: string, payload: Uint8Array, into: Uint8Array, at: number): number {
  const head = headOf(payloadType);
  const length = String(payload.length);
  into.set(head, at);
  let offset = at + head.length;
  for (let i = 0; i < length.length; i++) into[offset++] = length.charCodeAt(i);
  into[offset++] = SPACE;
  into.set(payload, offset);
  return offset + payload.length;
}

const SPACE = 0x20;

// Nearly all that is signed has one type: what stands before the payload's length is made once.
let last: { readonly type: string; readonly head: Uint8Array } | null = null;

function headOf(type: string): Uint8Array {
  if (last?.type === type) return last.head;
  const head = utf8(`DSSEv1 ${utf8(type).length} ${type} `);
  last = { type, head };
  return head;
}
