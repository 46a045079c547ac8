// Verification of an evaluation, compared with crypto.verify alone over the same messages on as many threads.
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { openSqliteLog } from '../dist/libs/event-log/src/index.js';
import { fromHex, openTrustStore, pae } from '../dist/libs/ledger/src/index.js';
import { verifyEvaluation } from '../dist/libs/verification/src/index.js';
import { keepHeapSmall } from '../dist/apps/truss/src/heap.js';
import { createSignaturePool } from '../dist/apps/truss/src/signature-pool.js';
import { cpuOf } from './cpu.mjs';

const SPKI_PREFIX = fromHex('302a300506032b6570032100');

/** Verifies straight from the database, as `truss verify` does, with nothing held before. */
export async function verification({ db, id }) {
  const trust = JSON.parse(readFileSync(`${db}.keys/trust.json`, 'utf8'));
  const { log, close } = openSqliteLog({ file: db, keys: openTrustStore(trust), mode: 'read' });
  keepHeapSmall();
  const pool = createSignaturePool({ inProcess: 0 });
  const began = performance.now();
  const cpu = cpuOf();
  const { result, checked } = await verifyEvaluation({
    evaluation: id,
    records: () => log.records(id),
    keys: trust,
    attachment: (sha256) => log.attachment(sha256),
    verifySignatures: pool.verify,
  });
  const measured = {
    entries: checked.entries,
    perSecond: checked.entries / ((performance.now() - began) / 1000),
    cpuPerEntry: cpu() / checked.entries,
    peakMb: process.resourceUsage().maxRSS / 1024,
  };
  if (result !== 'valid') throw new Error(`the evaluation is ${result}`);
  await pool.close();
  await close();
  return measured;
}

/** `crypto.verify` over the messages of the evaluation's first entries, which are at hand in each thread before the clock starts. */
export async function rawVerification({ db, id, most = 20_000 }) {
  const trust = JSON.parse(readFileSync(`${db}.keys/trust.json`, 'utf8'));
  const { log, close } = openSqliteLog({ file: db, keys: openTrustStore(trust), mode: 'read' });
  const threads = availableParallelism();
  const checks = Array.from({ length: threads }, () => []);
  let entries = 0;
  for await (const { record } of log.records(id)) {
    if (entries === most) break;
    const message = pae(record.payloadType, record.payload);
    checks[entries % threads].push({ keyid: record.keyid, message, signature: record.signature });
    entries += 1;
  }
  await close();
  const keys = trust.keys.map((key) => [key.id, Buffer.concat([SPKI_PREFIX, fromHex(key.public_key)])]);
  const workers = checks.map(
    (part) => new Worker(new URL('raw-worker.mjs', import.meta.url), { workerData: { keys, checks: part } }),
  );
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('online', resolve))));
  const round = () =>
    Promise.all(
      workers.map(
        (worker) =>
          new Promise((resolve, reject) => {
            worker.once('message', resolve);
            worker.once('error', reject);
            worker.postMessage('go');
          }),
      ),
    );
  const began = performance.now();
  const cpu = cpuOf();
  const held = (await round()).reduce((sum, one) => sum + one, 0);
  const measured = { perSecond: entries / ((performance.now() - began) / 1000), cpuPerEntry: cpu() / entries };
  if (held !== entries) throw new Error(`${entries - held} signatures do not verify`);
  await Promise.all(workers.map((worker) => worker.terminate()));
  return measured;
}
