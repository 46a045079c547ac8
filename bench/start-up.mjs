// `truss --help` and a Node that does nothing, each several times by turns: the medians.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const TRUSS = fileURLToPath(new URL('../bin/truss.js', import.meta.url));

export function startUp({ times = 9 } = {}) {
  const taken = { truss: [], node: [] };
  for (let i = 0; i < times; i++) {
    taken.truss.push(msOf([TRUSS, '--help']));
    taken.node.push(msOf(['-e', '0']));
  }
  return { ms: median(taken.truss), nodeMs: median(taken.node) };
}

function msOf(args) {
  const began = performance.now();
  const { status } = spawnSync(process.execPath, args, { stdio: 'ignore' });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`);
  return performance.now() - began;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
