import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFailed } from 'vitest';
import { type EvalReport, reportSchema } from '#lib/evaluation';
import type { Topic, TopicRecord } from '#lib/event-log';
import { deployTopics } from '#lib/event-log/kafka';
import { addKey, createKeys, SERVICE_ROLES, type ServiceRole, trustFile } from '#lib/key-store';
import { type Entry, type EvalRunId, evalRunId, openEntry, typedEntry } from '#lib/ledger';
import { EvaluationViews } from '#lib/runtime';
import { deploySchemas } from '#lib/schemas';
import { readConfig } from '#lib/service';
import { type Distributed, openDistributed } from '../../apps/truss/src/distributed.js';
import { type Said, truss } from '../../apps/truss/src/in-process.testkit.js';
import { Service } from './service.testkit.js';
import { type Outcome, outcomeOf, type Plan } from './outcome.testkit.js';

export interface DeployOptions {
  /** Where the stack is. */
  readonly stack: { readonly brokers: readonly string[]; readonly registry: string; readonly redis: string };
  /** How many processes of each role; absent: one. */
  readonly coordinators?: number;
  readonly executors?: number;
  readonly projectors?: number;
  readonly partitions?: number;
  readonly replication?: number;
  /** Of all services, over ours. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The key by which the model knows the n-th executor that a deployment began with. */
export const modelKey = (executor: number): string => `key-of-executor-${executor}`;

const REQUESTER = 'tester';
const REPORT_MS = 120_000;

/** A whole deployment under a prefix of its own, on a stack that others may use too: services are processes of the built command line. */
export class Deployment {
  readonly services: Service[] = [];
  private constructor(
    readonly folder: string,
    readonly prefix: string,
    /** Of every service, and of commands. */
    readonly env: Readonly<Record<string, string>>,
    /** What a command opens: to read along, and to publish. */
    readonly cluster: Distributed,
  ) {}

  static async deploy(options: DeployOptions): Promise<Deployment> {
    const { stack, partitions = 3, replication = 1 } = options;
    const folder = mkdtempSync(join(tmpdir(), 'truss-faults-'));
    const prefix = `t-${randomBytes(4).toString('hex')}.`;
    const keys = join(folder, 'keys');
    createKeys(keys, 'faults');
    addKey(trustFile(keys), { role: 'requester', operator: REQUESTER, keyFile: join(keys, 'requester.key') });
    const connection = { brokers: [...stack.brokers], clientId: 'faults' };
    await deployTopics({ connection, prefix, partitions, replication, minInsyncReplicas: Math.min(2, replication) });
    await deploySchemas({ registry: { url: stack.registry }, prefix });
    const env = {
      TRUSS_BROKERS: stack.brokers.join(','),
      TRUSS_REGISTRY: stack.registry,
      TRUSS_REDIS: stack.redis,
      TRUSS_PREFIX: prefix,
      TRUSS_TRUST_FILE: trustFile(keys),
      ...Object.fromEntries(
        SERVICE_ROLES.map((role) => [`TRUSS_${role.toUpperCase()}_KEY_FILE`, join(keys, `${role}.key`)]),
      ),
      TRUSS_HTTP_PORT: '0',
      TRUSS_CACHE_DIR: join(folder, 'cache'),
      TRUSS_LEASE_TIME: '3s',
      TRUSS_SESSION_TIMEOUT: '4s',
      TRUSS_LOG_LEVEL: 'debug',
      MODEL_KEY: 'key-of-others',
      ...options.env,
    };
    const config = readConfig(env, {}, { parts: ['kafka', 'registry', 'trust'] });
    const cluster = await openDistributed(config, {
      fatal: (error) => {
        throw error;
      },
    });
    const deployment = new Deployment(folder, prefix, env, cluster);
    const { coordinators = 1, executors = 1, projectors = 1 } = options;
    const roles: ServiceRole[] = [
      ...Array<ServiceRole>(coordinators).fill('coordinator'),
      ...Array<ServiceRole>(projectors).fill('projector'),
    ];
    const modelKeys = Array.from({ length: executors }, (_, i) => ({ MODEL_KEY: modelKey(i) }));
    try {
      await Promise.all([
        ...modelKeys.map((key) => deployment.start('executor', key)),
        ...roles.map((role) => deployment.start(role)),
      ]);
    } catch (error) {
      await deployment.close();
      throw error;
    }
    return deployment;
  }

  /** One more process, from its first moment on. */
  launch(role: ServiceRole, env: Readonly<Record<string, string>> = {}): Service {
    const service = new Service([role], { ...this.env, ...env });
    this.services.push(service);
    return service;
  }

  /** One more process; resolves when it is ready. */
  start(role: ServiceRole, env: Readonly<Record<string, string>> = {}): Promise<Service> {
    return this.launch(role, env).ready();
  }

  /** Those that run. */
  of(role: ServiceRole): readonly Service[] {
    return this.services.filter((service) => service.alive && service.roles.includes(role));
  }

  /** Asks for an evaluation as `truss request` does; resolves when it is asked for. What services said is shown if the test fails. */
  async request(contract: string, plan: Plan, requestId = randomBytes(8).toString('hex')): Promise<EvalRunId> {
    onTestFailed(() => this.tell());
    const { repeats, replicates, seed } = plan;
    const key = join(this.folder, 'keys', 'requester.key');
    const settings = Object.entries({ repeats, replicates, seed }).flatMap(([name, value]) => [
      `--${name}`,
      `${value}`,
    ]);
    const concurrency = ['--concurrency', String(replicates)];
    const asked = await this.truss(
      ...['request', '--contract', contract, '--key', key, '--request-id', requestId, ...settings, ...concurrency],
    );
    expect(asked, asked.stderr).toMatchObject({ code: 0 });
    return evalRunId(REQUESTER, requestId);
  }

  /** The records of a topic, to its end as of now. */
  async list(topic: Topic, key?: string): Promise<TopicRecord[]> {
    const found: TopicRecord[] = [];
    for await (const record of this.cluster.topics.list(topic))
      if (key === undefined || record.key === key) found.push(record);
    return found;
  }

  /** Waits for `eval.report`; throws where the request stands in the dead letters. */
  async reportOf(evaluation: EvalRunId): Promise<EvalReport> {
    const until = Date.now() + REPORT_MS;
    for (;;) {
      const [record] = await this.list('eval.report', evaluation);
      if (record !== undefined) {
        const { envelope: _, ...report } = record.value as Record<string, unknown>;
        return reportSchema.parse(report);
      }
      const letter = (await this.list('eval.dead-letter', evaluation)).find(isRefusal);
      if (letter !== undefined) throw new Error(`in the dead letters: ${JSON.stringify(letter.value)}`);
      if (Date.now() > until) throw new Error(`no report of ${evaluation} after ${REPORT_MS / 1000} s`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** What must be as in an undisturbed run, once the report is there. */
  async outcomeOf(evaluation: EvalRunId): Promise<Outcome> {
    await this.reportOf(evaluation);
    const views = new EvaluationViews({ log: this.cluster.log });
    const { view } = await views.open(evaluation);
    const outcome = outcomeOf(view.state);
    await views.close(evaluation);
    return outcome;
  }

  /** All entries that trusted keys signed, in log order, superseded ones too. */
  async entries(evaluation: EvalRunId): Promise<Entry[]> {
    const entries: Entry[] = [];
    for await (const { record } of this.cluster.log.records(evaluation)) {
      const opened = openEntry(record, this.cluster.keys);
      if (opened.kind === 'entry') entries.push(typedEntry(opened.entry));
    }
    return entries;
  }

  /** `truss verify --brokers`: expects that it is valid, without one finding that is an error. */
  async verify(evaluation: EvalRunId): Promise<void> {
    const { code, stdout, stderr } = await this.truss('verify', evaluation, '--json');
    expect(code, stdout + stderr).toBe(0);
    const { result, findings } = JSON.parse(stdout) as { result: string; findings: { severity: string }[] };
    expect(result).toBe('valid');
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  }

  /** The command line in this process, on this deployment. */
  async truss(...args: readonly string[]): Promise<Said> {
    const before = { ...process.env };
    Object.assign(process.env, this.env);
    try {
      return await truss(...args);
    } finally {
      for (const name of Object.keys(this.env)) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    }
  }

  /** Writes what every service said to stderr. */
  tell(): void {
    for (const service of this.services) process.stderr.write(`--- ${service.name}\n${service.output}\n`);
  }

  async close(): Promise<void> {
    await Promise.all(this.services.map((service) => service.close()));
    await this.cluster.close();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Whether the letter is about a request, and not about rubbish under its key. */
function isRefusal({ value }: TopicRecord): boolean {
  return ['eval.requested', 'eval.accepted'].includes(String((value as { readonly topic?: unknown } | null)?.topic));
}
