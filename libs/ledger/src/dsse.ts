import { concatBytes, utf8 } from './bytes.js';

/**
 * DSSE v1 pre-authentication encoding, what a signature covers: `"DSSEv1" SP LEN(type) SP type SP LEN(payload) SP payload`, lengths in
 * bytes as decimal ASCII (secure-systems-lab/dsse, protocol.md).
 */
export function pae(payloadType: string, payload: Uint8Array): Uint8Array {
  const typeLength = utf8(payloadType).length;
  return concatBytes(utf8(`DSSEv1 ${typeLength} ${payloadType} ${payload.length} `), payload);
}
