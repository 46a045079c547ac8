import { utf8 } from './bytes.js';

/**
 * DSSE v1 pre-authentication encoding, what a signature covers: `"DSSEv1" SP LEN(type) SP type SP LEN(payload) SP payload`, lengths in
 * bytes as decimal ASCII (secure-systems-lab/dsse, protocol.md).
 */
export function pae(payloadType: string, payload: Uint8Array): Uint8Array {
  const length = String(payload.length);
  const head = headOf(payloadType);
  const whole = new Uint8Array(head.length + length.length + 1 + payload.length);
  whole.set(head);
  let offset = head.length;
  for (let i = 0; i < length.length; i++) whole[offset++] = length.charCodeAt(i);
  whole[offset++] = SPACE;
  whole.set(payload, offset);
  return whole;
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
