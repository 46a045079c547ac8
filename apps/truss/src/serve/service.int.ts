import { randomBytes, randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { loadContract, type LoadedContract } from '#lib/contract';
import { type EvalRequested, evaluationOf } from '#lib/evaluation';
import { createMemoryLeases, openSqliteLog, type TopicRecord, type Topics } from '#lib/event-log';
import { createKeys, SERVICE_ROLES } from '#lib/key-store';
import { type EvalRunId, openTrustStore, trustStoreBytes } from '#lib/ledger';
import { directRequests } from '#lib/requests';
import type { Ports } from '#lib/runtime';
import { type Check, createLogger, createMetrics, Health, logObserver } from '#lib/service';
import { spansInMemory } from '../../../../libs/service/src/observe/spans.testkit.js';
import { type Service, startService } from './service.js';
import { openSigners } from './signers.js';

const cleanUp: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`;

/** As Kafka's adapter does: records carry their trace, and only one as it was delivered can be refused. */
function likeKafka(topics: Topics): Topics {
  const traces = new Map<string, string | undefined>();
  const delivered = new WeakSet<TopicRecord>();
  return {
    ...topics,
    async refuse(record, code, reason) {
      if (!delivered.has(record)) throw new Error('refused another record than was delivered');
      await topics.refuse(record, code, reason);
    },
    async publish(topic, key, value, trace) {
      traces.set(`${topic} ${key}`, trace);
      return topics.publish(topic, key, value);
    },
    consume: (topic, group, handler) =>
      topics.consume(topic, group, {
        ...handler,
        record(record) {
          const trace = traces.get(`${topic} ${record.key}`);
          const carrying = trace === undefined ? record : { ...record, trace };
          delivered.add(carrying);
          handler.record(carrying);
        },
      }),
  };
}

/** One SQLite file, its keys and a contract: the services are the same code as on Kafka, and need no server. */
async function world(agent = `require('node:fs').writeFileSync('answer.txt', 'yes')`) {
  const folder = mkdtempSync(join(tmpdir(), 'truss-serve-'));
  cleanUp.push(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'agent.cjs'), agent);
  writeFileSync(
    join(folder, 'contract.toml'),
    `id = "yes"\ninstructions = "Answer."\n[agent]\nkind = "command"\ncommand = ["node", "agent.cjs"]\n[[criteria]]\nid = "yes"\nkind = "match"\nfile = "answer.txt"\nequals = "yes"\n[budget]\nmax_steps = 10\ntimeout = "60s"\n`,
  );
  const contract = await loadContract(join(folder, 'contract.toml'));
  const trust = createKeys(join(folder, 'keys'), 'test');
  const keys = openTrustStore(trust);
  const leases = createMemoryLeases(() => performance.now());

  async function serve(part: Partial<Ports> = {}, checks: Record<string, Check> = {}, port = 0) {
    const sqlite = openSqliteLog({ file: join(folder, 'truss.db'), keys, mode: 'drive' });
    cleanUp.push(() => sqlite.close());
    const open = { ...sqlite, topics: likeKafka(sqlite.topics) };
    const keyFiles = Object.fromEntries(SERVICE_ROLES.map((role) => [role, join(folder, 'keys', `${role}.key`)]));
    const failures: unknown[] = [];
    const lines: string[] = [];
    const logger = createLogger({
      level: 'info',
      service: 'test',
      secrets: [],
      destination: { write: (line: string) => void lines.push(line) },
    });
    const { tracing, spans } = spansInMemory();
    const ports: Ports = {
      log: open.log,
      topics: open.topics,
      leases,
      keys,
      signers: openSigners(SERVICE_ROLES, keyFiles as Record<(typeof SERVICE_ROLES)[number], string>, trust),
      trustStore: await open.log.putAttachment(trustStoreBytes(trust)),
      contracts: {
        fetch: async () => {},
        locate: () => ({ directory: contract.directory, workspace: contract.workspaceDir }),
        whyNot: () => null,
      },
      requests: directRequests,
      models: { env: {} },
      software: { truss: '0', node: '0' },
      leaseMs: 60_000,
      slots: 4,
      drives: () => true,
      now: () => Date.now(),
      random128: () => randomBytes(16).toString('hex'),
      below: (bound) => randomInt(bound),
      fatal: (error) => failures.push(error),
      ...part,
    };
    const service = await startService({
      roles: SERVICE_ROLES,
      ports,
      observers: [logObserver(logger)],
      tracing,
      health: new Health(checks),
      metrics: createMetrics({
        now: () => Date.now(),
        lag: () => ({ ledger: 5, consumers: [{ topic: 'eval.accepted', group: 'intake', lag: 7 }] }),
      }),
      http: { host: '127.0.0.1', port },
    });
    let stopped = false;
    const stop = async () => {
      if (stopped) return;
      stopped = true;
      await service.stop();
      await tracing.close();
      await open.close();
    };
    cleanUp.push(stop);
    return { open, service, stop, failures, lines, spans };
  }
  return { folder, contract, serve };
}

function requestFor({ contract, digest, directory, workspaceDir }: LoadedContract): EvalRequested {
  const { primary, alpha, margin, min_units } = contract.evaluation;
  return {
    kind: 'eval',
    requester: 'tester',
    request_id: 'one',
    contracts: [{ digest: digest as never, contract }],
    repeats: 1,
    replicates: 1,
    seed: 3,
    concurrency: 1,
    starting_lessons: [],
    max_cost_nano_usd: null,
    deadline_ms: 3_600_000,
    statistics: { method_version: 1, primary, alpha, margin, min_units },
    files: [{ directory, workspace: workspaceDir }],
  };
}

type Serving = Awaited<ReturnType<Awaited<ReturnType<typeof world>>['serve']>>;

async function reported({ open, failures }: Serving, evaluation: EvalRunId): Promise<boolean> {
  if (failures.length > 0) throw failures[0];
  for await (const { key } of open.topics.list('eval.report')) if (key === evaluation) return true;
  return false;
}

async function get({ url }: Service, path: string) {
  const response = await fetch(`${url}${path}`);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

describe('a service', () => {
  test('takes a request to its report, and what it did is in its metrics, its logs and one trace', async () => {
    const { contract, serve } = await world();
    const serving = await serve();
    const request = requestFor(contract);
    const evaluation = evaluationOf(request);
    await serving.open.topics.publish('eval.requested', 'any', request, TRACEPARENT);
    await expect.poll(() => reported(serving, evaluation), { timeout: 30_000 }).toBe(true);

    const { text, type } = await get(serving.service, '/metrics');
    expect(type).toContain('text/plain; version=0.0.4');
    for (const line of [
      'truss_entries_total{type="eval_started"} 1',
      'truss_entries_total{type="run_sealed"} 2',
      'truss_runs_total{verdict="pass"} 2',
      'truss_evaluations_total{outcome="complete"} 1',
      'truss_reports_total{verdict="pass"} 1',
      'truss_evaluation_seconds_count 1',
      'truss_runs_in_flight 0',
      'truss_lost_appends_total 0',
      'truss_consumer_lag_records{topic="eval.accepted",group="intake"} 7',
      'truss_ledger_lag_records 5',
    ])
      expect(text).toContain(line);

    const lines = serving.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const sealed = lines.filter(({ msg }) => msg === 'run sealed');
    expect(sealed).toHaveLength(2);
    for (const line of sealed)
      expect(line).toMatchObject({
        eval_run_id: evaluation,
        child_run_id: expect.stringContaining(evaluation),
        trace_id: TRACE,
        verdict: 'pass',
      });
    expect(lines.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining(['request accepted', 'evaluation started', 'evaluation closed', 'report published']),
    );

    await serving.stop();
    const spans = serving.spans();
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([TRACE]));
    const names = spans.map(({ name }) => name);
    for (const name of [
      'intake',
      'send eval.accepted',
      'evaluation',
      'send eval.child-run.commands',
      'child run',
      'append run_sealed',
      'append child_anchor',
      'projection',
      'append eval_report',
      'send eval.report',
    ])
      expect(names).toContain(name);
    // Every span but those of the request hangs on another of the trace.
    const ids = new Set(spans.map((span) => span.spanContext().spanId));
    const roots = spans.filter(({ parentSpanContext }) => !ids.has(parentSpanContext?.spanId ?? ''));
    expect(roots.map(({ name }) => name)).toEqual(['intake']);
  });

  test('is ready when its checks say so, gives the reason when not, and stays live', async () => {
    const { serve } = await world();
    let reason: string | null = 'is away';
    const { service } = await serve({}, { redis: () => reason });
    expect(await get(service, '/health/live')).toMatchObject({ status: 200 });
    const not = await get(service, '/health/ready');
    expect(not.status).toBe(503);
    expect(JSON.parse(not.text)).toEqual({ ok: false, reasons: { redis: 'is away' } });
    reason = null;
    expect(await get(service, '/health/ready')).toMatchObject({ status: 200 });
    expect(await get(service, '/nothing')).toMatchObject({ status: 404 });
  });

  test('refuses a record as its adapter delivered it, and says so in a line', async () => {
    const { serve } = await world();
    const serving = await serve();
    await serving.open.topics.publish('eval.requested', 'any', { kind: 'nonsense' }, TRACEPARENT);
    await expect.poll(() => serving.failures.length + serving.lines.length).toBeGreaterThan(0);
    expect(serving.failures).toEqual([]);
    const refused = serving.lines.map((line) => JSON.parse(line) as object).filter((line) => 'code' in line);
    const expected = {
      msg: 'record refused',
      code: 'bad_request',
      topic: 'eval.requested',
      trace_id: expect.any(String),
    };
    expect(refused).toEqual([expect.objectContaining(expected)]);
  });
});

test('a service whose address is taken says which settings name it', async () => {
  const { service } = await (await world()).serve();
  const { port } = new URL(service.url);
  const refused = (await world()).serve({}, {}, Number(port));
  await expect(refused).rejects.toThrow(/cannot be served on 127\.0\.0\.1:\d+ \(EADDRINUSE\): set TRUSS_HTTP_HOST/);
});

describe('a service that stops', () => {
  /** Says in `started` that it began, waits, and answers. */
  const slow = (folder: string, ms: number) =>
    `const fs = require('node:fs');
fs.appendFileSync(${JSON.stringify(join(folder, 'started'))}, 'x');
setTimeout(() => fs.writeFileSync('answer.txt', 'yes'), ${ms});`;
  const starts = (folder: string) =>
    existsSync(join(folder, 'started')) ? readFileSync(join(folder, 'started'), 'utf8').length : 0;

  test('lets an agent finish that is about to, begins nothing more, and another goes on at once', async () => {
    const marks = mkdtempSync(join(tmpdir(), 'truss-marks-'));
    cleanUp.push(() => rmSync(marks, { recursive: true, force: true }));
    const { contract, serve } = await world(slow(marks, 1_000));
    const first = await serve({ handBackMs: 10_000 });
    const request = requestFor(contract);
    await first.open.topics.publish('eval.requested', 'any', request);
    await expect.poll(() => starts(marks), { timeout: 30_000 }).toBe(2);
    await first.stop();
    const sealed = first.lines.filter((line) => line.includes('"run sealed"'));
    expect(sealed).toHaveLength(0);

    const second = await serve();
    // The lease time is a minute: whoever had to wait for one would be late.
    await expect.poll(() => reported(second, evaluationOf(request)), { timeout: 30_000 }).toBe(true);
    expect(starts(marks)).toBe(2);
  });

  test('ends an agent that would take too long, in the time that it has', async () => {
    const marks = mkdtempSync(join(tmpdir(), 'truss-marks-'));
    cleanUp.push(() => rmSync(marks, { recursive: true, force: true }));
    const { contract, serve } = await world(slow(marks, 60_000));
    const serving = await serve({ handBackMs: 500 });
    await serving.open.topics.publish('eval.requested', 'any', requestFor(contract));
    await expect.poll(() => starts(marks), { timeout: 30_000 }).toBe(2);
    const began = performance.now();
    await serving.stop();
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(serving.failures).toEqual([]);
  });
});
