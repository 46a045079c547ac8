// The distributed system against a real stack: `node bench/cluster.mjs [--runs N] [--requests N] [--history FILE.db]`, with TRUSS_BROKERS, TRUSS_REGISTRY and TRUSS_REDIS
// as `deploy/local/stack up` prints them. Prints JSON. Rates are compared within the run, as the other benchmarks are.
import 'reflect-metadata';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openDistributed } from '../dist/apps/truss/src/distributed.js';
import { replay } from '../dist/apps/truss/src/replay/replay.js';
import { createSignaturePool } from '../dist/apps/truss/src/signature-pool.js';
import { openSqliteLog } from '../dist/libs/event-log/src/index.js';
import { partitionOf } from '../dist/libs/event-log/src/kafka/index.js';
import { openTrustStore } from '../dist/libs/ledger/src/index.js';
import { openCodec } from '../dist/libs/schemas/src/index.js';
import { readConfig } from '../dist/libs/service/src/index.js';
import { CONTRACT } from './zero-work.mjs';

process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1';
const { Kafka, logLevel } = await import('kafkajs');

const { values } = parseArgs({
  options: { runs: { type: 'string' }, requests: { type: 'string' }, history: { type: 'string' } },
});
const RUNS = Number(values.runs ?? 2000);
const REQUESTS = Number(values.requests ?? 100);
const HISTORY = Number(values.history ?? 5000);

const truss = fileURLToPath(new URL('../bin/truss.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'truss-bench-'));
const prefix = `bench-${randomBytes(4).toString('hex')}.`;
const keys = join(folder, 'keys.keys');
const env = {
  ...process.env,
  TRUSS_PREFIX: prefix,
  TRUSS_TRUST_FILE: join(keys, 'trust.json'),
  TRUSS_COORDINATOR_KEY_FILE: join(keys, 'coordinator.key'),
  TRUSS_EXECUTOR_KEY_FILE: join(keys, 'executor.key'),
  TRUSS_PROJECTOR_KEY_FILE: join(keys, 'projector.key'),
  TRUSS_REQUESTER_KEY_FILE: join(keys, 'requester-bench.key'),
  TRUSS_CACHE_DIR: join(folder, 'cache'),
  TRUSS_QUOTA_OPEN: '1000',
  TRUSS_LOG_LEVEL: 'warn',
  TRUSS_HTTP_PORT: '0',
  TRUSS_CONCURRENCY: '64',
};

/** In a process of its own, which leaves no mark on this one's heap. */
function part(name, options) {
  const { status, stdout } = spawnSync(
    process.execPath,
    [fileURLToPath(new URL('part.mjs', import.meta.url)), name, JSON.stringify(options)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  if (status !== 0) throw new Error(`${name} ended with ${status}`);
  return JSON.parse(stdout.toString());
}

function cli(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [truss, ...args], { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`truss ${args.join(' ')} ended with ${status}: ${stderr}`);
  return stdout;
}

function serve(...roles) {
  const child = spawn(process.execPath, [truss, 'serve', ...roles], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  return { stop: () => new Promise((resolve) => child.once('exit', resolve) && child.kill('SIGTERM')) };
}

const open = () =>
  openDistributed(readConfig(env, {}, { parts: ['kafka', 'registry', 'trust'] }), {
    fatal: (error) => {
      throw error;
    },
  });

/** From `eval.requested` to `eval.report`, one request after another; then one evaluation of many runs. */
async function services() {
  mkdirSync(join(folder, 'contract'));
  writeFileSync(join(folder, 'contract', 'contract.toml'), CONTRACT);
  cli('contracts', 'register', join(folder, 'contract', 'contract.toml'));
  const [{ digest }] = cli('contracts', 'list', '--json')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const running = [serve('coordinator', 'projector'), serve('executor')];
  const log = await open();
  const reported = new Map();
  const consumer = await log.topics.consume('eval.report', 'bench', {
    record: ({ key }) => reported.get(key)?.(performance.now()),
  });
  const request = (request_id, replicates, repeats) => ({
    kind: 'eval',
    requester: 'bench',
    request_id,
    contract: { kind: 'registered', id: 'zero-work', digest },
    repeats,
    replicates,
    seed: 1,
    concurrency: 32,
    lessons: [],
    limits: { max_cost_nano_usd: null },
    deadline_ms: null,
    statistics: null,
    signature: null,
  });
  const { evalRunId } = await import('../dist/libs/ledger/src/index.js');
  const once = async (id, replicates, repeats) => {
    const evaluation = evalRunId('bench', id);
    const done = new Promise((resolve) => reported.set(evaluation, resolve));
    const began = performance.now();
    await log.topics.publish('eval.requested', id, request(id, replicates, repeats));
    return (await done) - began;
  };
  await once('first', 1, 1);
  const times = [];
  for (let at = 0; at < REQUESTS; at++) times.push(await once(`latency-${at}`, 1, 1));
  times.sort((a, b) => a - b);
  const runsMs = await once('many', Math.ceil(RUNS / 20), 10);
  await consumer.stop();
  await log.close();
  await Promise.all(running.map(({ stop }) => stop()));
  const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
  return { p50Ms: at(0.5), p99Ms: at(0.99), runsPerSecond: (Math.ceil(RUNS / 20) * 20) / (runsMs / 1000) };
}

/** A history made on SQLite and copied to the topics of a deployment of its own: replayed, and merely consumed. */
async function history() {
  const { id } = part('zeroWork', { folder: join(folder, 'history'), runs: HISTORY });
  const db = join(folder, 'history', 'truss.db');
  env.TRUSS_PREFIX = `${prefix}h.`;
  env.TRUSS_TRUST_FILE = `${db}.keys/trust.json`;
  cli('deploy', 'topics');
  cli('deploy', 'schemas');
  const trust = JSON.parse(readFileSync(env.TRUSS_TRUST_FILE, 'utf8'));
  const source = openSqliteLog({ file: db, keys: openTrustStore(trust), mode: 'read' });
  const kafka = new Kafka({ brokers: env.TRUSS_BROKERS.split(','), clientId: 'bench', logLevel: logLevel.ERROR });
  const topic = `${env.TRUSS_PREFIX}eval.ledger`;
  const codec = await openCodec({ registry: { url: env.TRUSS_REGISTRY }, prefix: env.TRUSS_PREFIX });
  const admin = kafka.admin();
  const producer = kafka.producer();
  await Promise.all([admin.connect(), producer.connect()]);
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  const partition = partitionOf(id, topics[0].partitions.length);
  let entries = 0;
  const messages = [];
  const attachments = new Set();
  for await (const { record } of source.log.records(id)) {
    for (const [, hash] of Buffer.from(record.payload)
      .toString()
      .matchAll(/"sha256":"([0-9a-f]{64})"/g))
      attachments.add(hash);
    messages.push({ key: id, partition, value: Buffer.from(await codec.encode('eval.ledger', record)) });
    entries += 1;
    if (messages.length < 500) continue;
    await producer.send({ topic, messages: messages.splice(0) });
  }
  await producer.send({ topic, messages });
  const log = await open();
  for (const hash of attachments) {
    const bytes = await source.log.attachment(hash);
    if (bytes !== null) await log.log.putAttachment(bytes);
  }
  await source.close();
  const consumed = [];
  const replayed = { without: [], with: [] };
  const raw = [];
  for (let round = 0; round < 3; round++) {
    consumed.push(await consume(kafka, topic, entries));
    replayed.without.push(await replayOnce(log, trust, entries, null));
    raw.push(part('rawVerification', { db, id }).perSecond);
    const pool = createSignaturePool({ inProcess: 0 });
    replayed.with.push(await replayOnce(log, trust, entries, pool.verify));
    await pool.close();
  }
  await Promise.all([log.close(), admin.disconnect(), producer.disconnect()]);
  const best = (rates) => Math.max(...rates);
  return {
    entries,
    consumedPerSecond: best(consumed),
    unsignedPerSecond: best(replayed.without),
    signedPerSecond: best(replayed.with),
    rawPerSecond: best(raw),
    unsignedRatio: best(replayed.without) / best(consumed),
    signedRatio: best(replayed.with) / best(raw),
    peakMb: process.resourceUsage().maxRSS / 1024,
  };
}

async function consume(kafka, topic, entries) {
  const consumer = kafka.consumer({ groupId: `${prefix}${randomBytes(4).toString('hex')}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  let seen = 0;
  let began = 0;
  const seconds = await new Promise((resolve) => {
    consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        if (seen === 0) began = performance.now();
        seen += batch.messages.length;
        if (seen >= entries) resolve((performance.now() - began) / 1000);
      },
    });
  });
  await consumer.disconnect();
  return entries / seconds;
}

async function replayOnce(log, keys, entries, verifySignatures) {
  const began = performance.now();
  const results = replay({
    scan: log.scan(),
    records: (evaluation) => log.log.records(evaluation),
    keys,
    attachment: (sha256) => log.log.attachment(sha256),
    verifySignatures: verifySignatures ?? (async (batch) => batch.map(() => true)),
  });
  for await (const { result, findings } of results) {
    if (result !== 'valid') throw new Error(`${result}: ${JSON.stringify(findings.slice(0, 3))}`);
  }
  return entries / ((performance.now() - began) / 1000);
}

try {
  cli('keys', 'init', '--db', join(folder, 'keys'));
  cli('keys', 'add', 'bench', '--trust', env.TRUSS_TRUST_FILE);
  cli('deploy', 'topics');
  cli('deploy', 'schemas');
  const measured = { services: await services(), replay: await history() };
  process.stdout.write(`${JSON.stringify(measured, null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
