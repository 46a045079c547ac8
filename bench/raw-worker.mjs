// Nothing but crypto.verify with cached key objects.
import { createPublicKey, verify } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';

const keys = new Map(
  workerData.keys.map(([id, der]) => [id, createPublicKey({ key: Buffer.from(der), format: 'der', type: 'spki' })]),
);
parentPort.on('message', () => {
  let held = 0;
  for (const { keyid, message, signature } of workerData.checks) {
    if (verify(null, message, keys.get(keyid), signature)) held += 1;
  }
  parentPort.postMessage(held);
});
