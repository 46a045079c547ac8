import { closeSync, openSync, rmSync } from 'node:fs';
import { takeDriverLock } from './driver-lock.js';
import { LogError } from './port.js';

// Run by driver-lock.int.ts: takes the lock again and again, and each time deletes its file before it gives it back, as a first start
// that failed does. Prints how often it had it, and how often somebody else had it too.
const [file = '', ms = '0'] = process.argv.slice(2);
const until = performance.now() + Number(ms);
const marker = `${file}-held`;
let [taken, shared] = [0, 0];
while (performance.now() < until) {
  let giveBack: () => void;
  try {
    giveBack = takeDriverLock(file);
  } catch (error) {
    if (error instanceof LogError && error.code === 'log_busy') continue;
    throw error;
  }
  taken += 1;
  try {
    closeSync(openSync(marker, 'wx'));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    rmSync(marker);
  } catch {
    shared += 1;
  }
  rmSync(`${file}-driver`);
  giveBack();
}
process.stdout.write(`${taken} ${shared}\n`);
