import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { type EvalRunId, evalRunId } from '#lib/ledger';
import type { Topic, TopicRecord } from '#lib/event-log';
import { deployTopics, rebuildIndex } from '#lib/event-log/kafka';
import { addKey, createKeys, openRequester, SERVICE_ROLES, trustFile } from '#lib/key-store';
import { type OutsideRequest, signRequest } from '#lib/requests';
import { deploySchemas, openCodec } from '#lib/schemas';
import { readConfig } from '#lib/service';
import { BIN } from '../cli.testkit.js';
import { type Distributed, openDistributed } from '../distributed.js';

const { brokers, registry, redis } = inject('stack');
const prefix = `t-${randomBytes(4).toString('hex')}.`;
const folder = mkdtempSync(join(tmpdir(), 'truss-serve-'));
const keys = join(folder, 'keys');
const requester = join(folder, 'requester.key');
const environment = {
  TRUSS_BROKERS: brokers.join(','),
  TRUSS_REGISTRY: registry,
  TRUSS_REDIS: redis,
  TRUSS_PREFIX: prefix,
  TRUSS_TRUST_FILE: trustFile(keys),
  ...Object.fromEntries(
    SERVICE_ROLES.map((role) => [`TRUSS_${role.toUpperCase()}_KEY_FILE`, join(keys, `${role}.key`)]),
  ),
  TRUSS_HTTP_PORT: '0',
  TRUSS_CACHE_DIR: join(folder, 'cache'),
  TRUSS_LEASE_TIME: '3s',
};
const kafka = new Kafka({ brokers, clientId: 'test', logLevel: logLevel.NOTHING });
let cluster: Distributed;

beforeAll(async () => {
  createKeys(keys, 'test');
  addKey(trustFile(keys), { role: 'requester', operator: 'tester', keyFile: requester });
  const connection = { brokers, clientId: 'test' };
  await deployTopics({ connection, prefix, partitions: 3, replication: 1, minInsyncReplicas: 1 });
  await deploySchemas({ registry: { url: registry }, prefix });
  const config = readConfig(environment, {}, { parts: ['kafka', 'registry', 'trust'] });
  cluster = await openDistributed(config, {
    fatal: (error) => {
      throw error;
    },
  });
});
afterAll(async () => {
  await cluster?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Serving {
  readonly process: ChildProcess;
  readonly lines: () => readonly Record<string, unknown>[];
  /** Resolves when it says where its health is. */
  readonly url: Promise<string>;
  /** Ends it by SIGTERM; resolves with its exit code and how long it took, in ms. */
  stop(): Promise<{ readonly code: number | null; readonly ms: number }>;
}
const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

function serve(roles: readonly string[], env: Readonly<Record<string, string | undefined>> = {}): Serving {
  const child = spawn(process.execPath, [BIN, 'serve', ...roles], {
    env: { ...process.env, ...environment, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let [out, err] = ['', ''];
  const lines = () => out.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as never] : []));
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      running.delete(child);
      resolve(code);
    });
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const url = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      const said = (lines() as Record<string, unknown>[]).find(({ msg }) => msg === 'serving');
      if (said !== undefined) resolve(String(said['url']));
    });
    void ended.then((code) => reject(new Error(`truss serve ended with ${code}: ${err}${out}`)));
  });
  url.catch(() => {});
  return {
    process: child,
    lines,
    url,
    async stop() {
      const began = performance.now();
      child.kill('SIGTERM');
      return { code: await ended, ms: performance.now() - began };
    },
  };
}

async function ready({ url }: Serving): Promise<void> {
  const base = await url;
  await expect.poll(async () => (await fetch(`${base}/health/ready`)).status, { timeout: 30_000 }).toBe(200);
}

/** Asks for one repeat of a contract; the agent is a constant, or a program that takes so long. */
async function ask(
  request_id: string,
  part: { readonly trace?: string; readonly seconds?: number } = {},
): Promise<EvalRunId> {
  const agent =
    part.seconds === undefined
      ? `kind = "fixed"\nanswer_text = "yes"`
      : `kind = "command"\ncommand = ["sh", "-c", "sleep ${part.seconds} && echo yes > answer.txt"]`;
  const toml = `id = "yes"\ninstructions = "Answer."\n[agent]\n${agent}\n[[criteria]]\nid = "yes"\nkind = "match"\nfile = "answer.txt"\nequals = "yes"\n[budget]\nmax_steps = 10\ntimeout = "60s"\n`;
  const request: Omit<OutsideRequest, 'signature'> = {
    kind: 'eval',
    requester: 'tester',
    request_id,
    contract: { kind: 'inline', toml, archive: null },
    repeats: 1,
    replicates: 1,
    seed: 7,
    concurrency: null,
    lessons: [],
    limits: { max_cost_nano_usd: null },
    deadline_ms: null,
    statistics: null,
  };
  const signed = await signRequest(request, openRequester(requester), {
    audience: 'truss',
    expires: Date.now() + 60_000,
  });
  const evaluation = evalRunId('tester', request_id);
  await cluster.topics.publish('eval.requested', evaluation, signed, part.trace);
  return evaluation;
}

async function reported(evaluation: EvalRunId): Promise<boolean> {
  for await (const { key } of cluster.topics.list('eval.report')) if (key === evaluation) return true;
  for await (const { value } of cluster.topics.list('eval.dead-letter')) {
    throw new Error(`in the dead letters: ${JSON.stringify(value)}`);
  }
  return false;
}

async function listed(topic: Topic): Promise<TopicRecord[]> {
  const records: TopicRecord[] = [];
  for await (const record of cluster.topics.list(topic)) records.push(record);
  return records;
}

describe('truss serve', () => {
  test('serves all roles in one process: a request comes back as a report, and SIGTERM ends it in time', async () => {
    const all = serve(SERVICE_ROLES);
    await ready(all);
    const trace = '0af7651916cd43dd8448eb211c80319c';
    const evaluation = await ask('one process', { trace: `00-${trace}-b7ad6b7169203331-01` });
    await expect.poll(() => reported(evaluation), { timeout: 60_000 }).toBe(true);

    const sealed = all.lines().filter(({ msg }) => msg === 'run sealed');
    expect(sealed).toHaveLength(2);
    for (const line of sealed)
      expect(line).toMatchObject({ eval_run_id: evaluation, trace_id: trace, verdict: 'pass' });
    const metrics = await (await fetch(`${await all.url}/metrics`)).text();
    expect(metrics).toContain('truss_reports_total{verdict="pass"} 1');
    expect(metrics).toContain('truss_ledger_lag_records 0');
    const { code, ms } = await all.stop();
    expect(code).toBe(0);
    expect(ms).toBeLessThan(10_000);
  });

  test('serves each role in a process of its own, which has no key but its own', async () => {
    const others = (role: string) =>
      Object.fromEntries(
        SERVICE_ROLES.filter((one) => one !== role).map((one) => [`TRUSS_${one.toUpperCase()}_KEY_FILE`, undefined]),
      );
    const services = SERVICE_ROLES.map((role) => serve([role], others(role)));
    await Promise.all(services.map(ready));
    const evaluation = await ask('three processes');
    await expect.poll(() => reported(evaluation), { timeout: 60_000 }).toBe(true);
    for (const { code, ms } of await Promise.all(services.map((service) => service.stop()))) {
      expect(code).toBe(0);
      expect(ms).toBeLessThan(10_000);
    }
  });

  test('hands a run back when it stops in the middle of it, and another executor goes on', async () => {
    const rest = serve(['coordinator', 'projector']);
    const first = serve(['executor'], { TRUSS_LEASE_TIME: '60s' });
    await Promise.all([ready(rest), ready(first)]);
    const evaluation = await ask('handed back', { seconds: 6 });
    const said = ({ lines }: Serving, message: string) => lines().filter(({ msg }) => msg === message).length;
    await expect.poll(() => said(first, 'run started'), { timeout: 30_000 }).toBe(2);
    const leases = () => cluster.redis?.keys(`${prefix}lease:*`);
    expect(await leases()).toHaveLength(2);
    const { code, ms } = await first.stop();
    expect(code).toBe(0);
    expect(ms).toBeLessThan(10_000);
    // Not run out, but given back: a minute is not over.
    expect(await leases()).toEqual([]);
    const second = serve(['executor']);
    await ready(second);
    await expect.poll(() => said(second, 'ledger taken over'), { timeout: 15_000 }).toBe(2);
    await expect.poll(() => reported(evaluation), { timeout: 60_000 }).toBe(true);
    expect(said(first, 'run sealed') + said(second, 'run sealed')).toBe(2);
    await Promise.all([rest.stop(), second.stop()]);
  });

  test('says everything that is wrong with its configuration at once, with exit code 2', async () => {
    const wrong = serve(['coordinator', 'executor'], {
      TRUSS_REGISTRY: undefined,
      TRUSS_EXECUTOR_KEY_FILE: undefined,
      TRUSS_LEASE_TIME: 'long',
    });
    const message = await wrong.url.then(String, (error: Error) => error.message);
    expect(message).toMatch(/ended with 2/);
    for (const name of ['TRUSS_REGISTRY', 'TRUSS_EXECUTOR_KEY_FILE', 'TRUSS_LEASE_TIME'])
      expect(message).toContain(name);
  });

  test('refuses to serve where topics are missing, and says what to do', async () => {
    const missing = serve(['projector'], { TRUSS_PREFIX: `${prefix}none.` });
    const message = await missing.url.then(String, (error: Error) => error.message);
    expect(message).toMatch(/ended with 2/);
    expect(message).toContain('truss deploy topics');
  });

  test('does not serve on an index that was lost; once it is rebuilt, a closed evaluation is answered and not run again', async () => {
    const evaluation = evalRunId('tester', 'one process');
    const records = async () => {
      let count = 0;
      for await (const _ of cluster.log.records(evaluation)) count++;
      return count;
    };
    const before = await records();
    expect(before).toBeGreaterThan(0);
    const admin = kafka.admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [`${prefix}eval.index`] });
    await expect.poll(() => admin.listTopics(), { timeout: 10_000 }).not.toContain(`${prefix}eval.index`);
    await admin.disconnect();
    const connection = { brokers, clientId: 'test' };
    await deployTopics({ connection, prefix, partitions: 3, replication: 1, minInsyncReplicas: 1 });
    const message = await serve(['coordinator']).url.then(String, (error: Error) => error.message);
    expect(message).toMatch(/ended with 2/);
    expect(message).toContain('run truss deploy index');

    const codec = await openCodec({ registry: { url: registry }, prefix });
    expect(await rebuildIndex({ connection, prefix, codec })).toMatchObject({ written: 3 });
    const all = serve(SERVICE_ROLES);
    await ready(all);
    const reports = async () => (await listed('eval.report')).filter(({ key }) => key === evaluation);
    const answered = (await reports()).length;
    await ask('one process');
    await expect.poll(async () => (await reports()).length, { timeout: 60_000 }).toBeGreaterThan(answered);
    expect(await records()).toBe(before);
    expect(all.lines().filter(({ msg }) => msg === 'run started')).toEqual([]);
    await all.stop();
  });

  test('refuses an acceptance that lies in the partition of another owner', async () => {
    const evaluation = evalRunId('tester', 'one process');
    const accepted = (await listed('eval.accepted')).find(({ key }) => key === evaluation);
    const codec = await openCodec({ registry: { url: registry }, prefix });
    const value = Buffer.from(await codec.encode('eval.accepted', accepted?.value ?? null));
    const elsewhere = ((accepted?.partition ?? 0) + 1) % 3;
    const [coordinator, producer] = [serve(['coordinator']), kafka.producer()];
    await producer.connect();
    await producer.send({
      topic: `${prefix}eval.accepted`,
      messages: [{ key: evaluation, value, partition: elsewhere }],
    });
    await producer.disconnect();
    const refused = async () => JSON.stringify(await listed('eval.dead-letter'));
    await expect.poll(refused, { timeout: 30_000 }).toContain(`partition ${elsewhere} is not that of ${evaluation}`);
    await coordinator.stop();
  });
});
