import { concatBytes, utf8 } from './bytes.js';

/**
 * DSSE v1 pre-authentication encoding, what a signature covers: `"DSSEv1" SP LEN(type) SP type SP LEN(payload) SP payload`, lengths in
 * bytes as decimal ASCII (secure-systems-lab/dsse, protocol.md).
 */
export function pae(payloadType: string, payload: Uint8Array): Uint8Array {
  return concatBytes(utf8(`DSSEv1 ${byteLength(payloadType)} ${payloadType} ${payload.length} `), payload);
}

function byteLength(text: string): number {
  return ASCII.test(text) ? text.length : utf8(text).length;
}

// All of it is one byte a character in UTF-8.
const ASCII = /^[\0-\x7f]*$/;
