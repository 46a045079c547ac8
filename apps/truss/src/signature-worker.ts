// Imports nothing of the project, so that Node runs this file as it stands, compiled or not.
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { parentPort } from 'node:worker_threads';

/** Signatures to check, their bytes in one buffer. */
export interface SignatureTask {
  readonly id: number;
  /** DER (SubjectPublicKeyInfo) of each key, and its name: the key is opened once a thread. */
  readonly keys: readonly { readonly name: string; readonly der: Uint8Array }[];
  /** Per signature: index of its key, offset and length of its message in `bytes`, offset of its 64 bytes there. */
  readonly table: Uint32Array<ArrayBuffer>;
  readonly bytes: Uint8Array;
}
export interface SignatureAnswer {
  readonly id: number;
  /** 1 where the signature holds. */
  readonly holds: Uint8Array<ArrayBuffer>;
}

const opened = new Map<string, KeyObject>();

function keyOf({ name, der }: SignatureTask['keys'][number]): KeyObject {
  const known = opened.get(name);
  if (known !== undefined) return known;
  const key = createPublicKey({ key: Buffer.from(der), format: 'der', type: 'spki' });
  opened.set(name, key);
  return key;
}

parentPort?.on('message', ({ id, keys, table, bytes }: SignatureTask) => {
  const objects = keys.map(keyOf);
  const holds = new Uint8Array(table.length / 4);
  for (let i = 0; i < holds.length; i++) {
    const at = 4 * i;
    const message = table[at + 1] ?? 0;
    const signature = table[at + 3] ?? 0;
    const object = objects[table[at] ?? -1];
    if (object === undefined) continue;
    const signed = bytes.subarray(message, message + (table[at + 2] ?? 0));
    holds[i] = verify(null, signed, object, bytes.subarray(signature, signature + 64)) ? 1 : 0;
  }
  parentPort?.postMessage({ id, holds } satisfies SignatureAnswer, [holds.buffer]);
});
