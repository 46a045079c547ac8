// `npm run bench`: all benchmarks, one after the other. `--gate`: smaller, and exit code 1 where a ratio is under its gate.
// `--runs N`: zero-work runs. `--write`: the results into README.md.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { GATES } from './gates.mjs';
import { startUp } from './start-up.mjs';

const { values } = parseArgs({
  options: { gate: { type: 'boolean' }, write: { type: 'boolean' }, runs: { type: 'string' } },
});
const RUNS = Number(values.runs ?? (values.gate ? 1000 : 20_000));
const SECONDS = values.gate ? 2 : 5;
const README = fileURLToPath(new URL('README.md', import.meta.url));

function part(name, options) {
  const { status, stdout } = spawnSync(
    process.execPath,
    [fileURLToPath(new URL('part.mjs', import.meta.url)), name, JSON.stringify(options)],
    { stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1e8 },
  );
  if (status !== 0) throw new Error(`${name} ended with ${status}`);
  return JSON.parse(stdout.toString());
}

function mean(a, b) {
  return Object.fromEntries(Object.keys(a).map((key) => [key, (a[key] + b[key]) / 2]));
}

/** What is compared is measured before and after what it is compared with, since other work on the machine comes and goes. */
function measure(folder) {
  const db = join(folder, 'truss.db');
  const before = part('cryptoAlone', { entriesPerRun: 8.5, seconds: SECONDS });
  const runs = part('zeroWork', { folder, runs: RUNS });
  const crypto = mean(before, part('cryptoAlone', { entriesPerRun: runs.entriesPerRun, seconds: SECONDS }));
  const rawBefore = part('rawVerification', { db, id: runs.id });
  const verified = part('verification', { db, id: runs.id });
  const raw = mean(rawBefore, part('rawVerification', { db, id: runs.id }));
  const start = startUp();
  return {
    zeroWork: {
      ...runs,
      cpuShare: crypto.cpuPerRun / runs.cpuPerRun,
      rateRatio: runs.perSecond / crypto.perSecond,
      crypto,
    },
    verification: {
      ...verified,
      cpuShare: raw.cpuPerEntry / verified.cpuPerEntry,
      rateRatio: verified.perSecond / raw.perSecond,
      raw,
    },
    startUp: { ...start, ratio: start.ms / start.nodeMs },
  };
}

function tableOf({ zeroWork: z, verification: v, startUp: s }) {
  const n = (value) => Math.round(value).toLocaleString('en');
  const rows = [
    [
      'Zero-work child runs, concurrency 20',
      `${n(z.perSecond)} runs/s`,
      `${n(z.cpuPerRun)} µs CPU a run`,
      `${n(z.runs)} runs, peak ${n(z.peakMb)} MB`,
    ],
    [
      'Their signatures and verifications alone',
      `${n(z.crypto.perSecond)} runs/s`,
      `${n(z.crypto.cpuPerRun)} µs CPU a run`,
      `${z.entriesPerRun.toFixed(2)} entries a run`,
    ],
    [
      'Verification, from the database',
      `${n(v.perSecond)} entries/s`,
      `${n(v.cpuPerEntry)} µs CPU an entry`,
      `${n(v.entries)} entries, peak ${n(v.peakMb)} MB`,
    ],
    ['crypto.verify alone', `${n(v.raw.perSecond)} entries/s`, `${n(v.raw.cpuPerEntry)} µs CPU an entry`, ''],
    ['truss --help', `${n(s.ms)} ms`, `empty Node ${n(s.nodeMs)} ms`, ''],
  ];
  return ['| what | rate | cost | size |', '| --- | --- | --- | --- |', ...rows.map((row) => `| ${row.join(' | ')} |`)];
}

function gatesOf(results) {
  return GATES.map(({ name, value, goal, least, most }) => {
    const measured = value(results);
    const holds = least === undefined ? measured <= most : measured >= least;
    return {
      holds,
      row: `| ${name} | ${measured.toFixed(2)} | ${goal} | ${least === undefined ? `≤ ${most}` : `≥ ${least}`} | ${holds ? 'holds' : 'FAILS'} |`,
    };
  });
}

const folder = mkdtempSync(join(tmpdir(), 'truss-bench-'));
try {
  const results = measure(folder);
  const gates = gatesOf(results);
  const machine = `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}, ${process.platform} ${process.arch}`;
  const text = [
    machine,
    '',
    ...tableOf(results),
    '',
    '| ratio within the run | measured | goal | gate | |',
    '| --- | --- | --- | --- | --- |',
    ...gates.map(({ row }) => row),
  ].join('\n');
  process.stdout.write(`${text}\n`);
  if (values.write) {
    const readme = readFileSync(README, 'utf8');
    const [head] = readme.split('<!-- results -->');
    writeFileSync(README, `${head}<!-- results -->\n\n${text}\n`);
  }
  if (values.gate && gates.some(({ holds }) => !holds)) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
