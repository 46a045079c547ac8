// Zero-work child runs on the embedded log: everything signed, verified and durable. Compared with the signatures and
// verifications alone, on the same cores in the same run.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadContract } from '../dist/libs/contract/src/index.js';
import {
  SigningKey,
  admitPublicKey,
  publicKeyFromSeed,
  signAsync,
  verifySignatureAsync,
} from '../dist/libs/ledger/src/index.js';
import { openEmbedded } from '../dist/apps/truss/src/embedded.js';
import { cpuOf } from './cpu.mjs';

export const CONTRACT = `id = "zero-work"
title = "Zero work"
instructions = "Answer."

[agent]
kind = "fixed"
answer_text = "yes"

[[criteria]]
id = "yes"
kind = "match"
file = "answer.txt"
equals = "yes"

[budget]
max_steps = 1
`;

/** Makes `truss.db` in the folder, one evaluation of about so many runs, and says what it took. CPU is that of the whole process, in µs a run. */
export async function zeroWork({ folder, runs, concurrency = 20, repeats = 10 }) {
  mkdirSync(join(folder, 'contract'), { recursive: true });
  writeFileSync(join(folder, 'contract', 'contract.toml'), CONTRACT);
  const loaded = await loadContract(join(folder, 'contract', 'contract.toml'));
  const fatal = (error) => {
    throw error;
  };
  const embedded = await openEmbedded({ db: join(folder, 'truss.db'), fatal });
  embedded.locate(loaded.digest, { directory: loaded.directory, workspace: loaded.workspaceDir });
  await embedded.start();
  const { primary, alpha, margin, min_units } = loaded.contract.evaluation;
  const began = performance.now();
  const cpu = cpuOf();
  const id = await embedded.submit({
    kind: 'eval',
    requester: 'bench',
    request_id: 'zero-work',
    contracts: [{ digest: loaded.digest, contract: loaded.contract }],
    repeats,
    replicates: Math.ceil(runs / 2 / repeats),
    seed: 1,
    concurrency,
    starting_lessons: [],
    max_cost_nano_usd: null,
    deadline_ms: 3_600_000,
    statistics: { method_version: 1, primary, alpha, margin, min_units },
    files: [{ directory: loaded.directory, workspace: loaded.workspaceDir }],
  });
  const open = await embedded.follow(id);
  const { anchors, seconds, spent } = await new Promise((resolve) => {
    let closed = null;
    const unsubscribe = open.subscribe((entry) => {
      if (entry.type === 'eval_closed') {
        closed = { anchors: entry.body.anchors, seconds: (performance.now() - began) / 1000, spent: cpu() };
      }
      if (entry.type !== 'eval_report') return;
      unsubscribe();
      resolve(closed);
    });
  });
  let entries = 0;
  for await (const _ of embedded.open.log.records(id)) entries += 1;
  await embedded.stop();
  return {
    id,
    runs: anchors,
    perSecond: anchors / seconds,
    entriesPerRun: entries / anchors,
    cpuPerRun: spent / anchors,
    peakMb: process.resourceUsage().maxRSS / 1024,
  };
}

/** The signatures and verifications of so many entries a run and nothing else, on the same thread pool. */
export async function cryptoAlone({ entriesPerRun, seconds, concurrency = 40, bytes = 700 }) {
  const key = new SigningKey(new Uint8Array(32).fill(7));
  const admitted = admitPublicKey(publicKeyFromSeed(key));
  const message = new Uint8Array(bytes).fill(65);
  const began = performance.now();
  const cpu = cpuOf();
  let entries = 0;
  const lane = async () => {
    while (performance.now() - began < seconds * 1000) {
      const signature = await signAsync(key, message);
      if (!(await verifySignatureAsync(admitted, message, signature))) throw new Error('a signature does not verify');
      entries += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  const runs = entries / entriesPerRun;
  return { perSecond: runs / ((performance.now() - began) / 1000), cpuPerRun: cpu() / runs };
}
