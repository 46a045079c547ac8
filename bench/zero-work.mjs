// Zero-work child runs on the embedded log: everything signed, verified and durable. Compared with the signatures and
// verifications alone, on the same cores in the same run.
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadContract } from '../dist/libs/contract/src/index.js';
import { SigningKey, admitPublicKey, publicKeyFromSeed, signAsync, verifySignatureAsync } from '../dist/libs/ledger/src/index.js';
import { openEmbedded } from '../dist/apps/truss/src/embedded.js';

const CONTRACT = `id = "zero-work"
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

/** Entries of a zero-work run and its share of the evaluation's ledger, and so its signatures and its verifications. */
export async function zeroWork({ runs, concurrency = 20, repeats = 10, sample = () => {} }) {
  const folder = mkdtempSync(join(tmpdir(), 'truss-bench-'));
  try {
    mkdirSync(join(folder, 'contract'));
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
    await new Promise((resolve) => {
      const unsubscribe = open.subscribe((entry) => {
        if (entry.type === 'child_anchor') sample(open.view.state.anchors);
        if (entry.type !== 'eval_closed') return;
        unsubscribe();
        resolve();
      });
    });
    const seconds = (performance.now() - began) / 1000;
    const done = open.view.state.anchors;
    let entries = 0;
    for await (const _ of embedded.open.log.records(id)) entries += 1;
    await embedded.stop();
    return { runs: done, seconds, perSecond: done / seconds, entriesPerRun: entries / done };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a second that the signatures and verifications alone would allow: one of each an entry, on the same thread pool. */
export async function cryptoAlone({ entriesPerRun, seconds = 3, concurrency = 40, bytes = 600 }) {
  const key = new SigningKey(new Uint8Array(32).fill(7));
  const admitted = admitPublicKey(publicKeyFromSeed(key));
  const message = new Uint8Array(bytes).fill(65);
  const until = performance.now() + seconds * 1000;
  const began = performance.now();
  let entries = 0;
  const lane = async () => {
    while (performance.now() < until) {
      const signature = await signAsync(key, message);
      if (!(await verifySignatureAsync(admitted, message, signature))) throw new Error('a signature does not verify');
      entries += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return entries / ((performance.now() - began) / 1000) / entriesPerRun;
}
