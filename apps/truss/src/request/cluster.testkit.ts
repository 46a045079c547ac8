import 'reflect-metadata';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { onTestFinished } from 'vitest';
import { CoordinatorModule } from '#app/coordinator';
import { ExecutorModule } from '#app/executor';
import { ProjectorModule } from '#app/projector';
import { type ArchiveSources, createContractStore } from '#lib/archive';
import { createMemoryLeases, type OpenLog } from '#lib/event-log';
import { addKey, createKeys, openKeyStore, readTrustStore, trustFile } from '#lib/key-store';
import { openTrustStore, trustStoreBytes } from '#lib/ledger';
import { type OutsideOptions, outsideRequests, quotaDefaults } from '#lib/requests';
import { type Ports, RuntimeModule } from '#lib/runtime';
import { createMemoryLog, MemoryStore } from '../../../../libs/event-log/src/memory-log.testkit.js';
import { constant } from '../../../../libs/requests/src/requests.testkit.js';
import type { ReadDatabase } from '../database.js';
import type { Place } from '../place.js';
import { SOFTWARE } from '../software.js';
import type { Output, Terminal } from '../terminal.js';

export const AUDIENCE = 'tests';

export async function all<T>(records: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const record of records) found.push(record);
  return found;
}

/** What a command says. */
export class Said implements Terminal {
  readonly #texts = { out: '', err: '' };
  readonly out = this.#output('out');
  readonly err = this.#output('err');

  get stdout(): string {
    return this.#texts.out;
  }
  get stderr(): string {
    return this.#texts.err;
  }

  #output(which: 'out' | 'err'): Output {
    return {
      isTerminal: false,
      columns: () => 80,
      paint: (_style, text) => text,
      write: async (text) => {
        this.#texts[which] += text;
      },
    };
  }
}

/** What a log is opened with. */
export type OpenLogOf = (keys: ReturnType<typeof openTrustStore>) => Promise<OpenLog & Pick<ReadDatabase, 'decode'>>;

/** A cluster whose services run in this process: they and the commands each open its log as other processes would. */
export class TestCluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'truss-cluster-'));
  readonly failures: unknown[] = [];
  readonly keyFile = join(this.folder, 'keys', 'requester-ana.key');
  readonly trustFile = trustFile(join(this.folder, 'keys'));

  constructor(private readonly openLog: OpenLogOf) {
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }));
    createKeys(join(this.folder, 'keys'), 'local');
    addKey(this.trustFile, { role: 'requester', operator: 'ana', keyFile: this.keyFile });
  }

  /** Opens the cluster as a command does. */
  get place(): Place {
    const place: Place = {
      name: 'test:9092',
      option: '--brokers test:9092',
      isDriven: async () => true,
      open: async (): Promise<ReadDatabase> => {
        const trust = readTrustStore(this.trustFile);
        const keys = openTrustStore(trust);
        return { ...(await this.openLog(keys)), place, trust, keys };
      },
    };
    return place;
  }

  /** @param files where the executor has archives from; absent: the log */
  async serve(
    services: readonly Type[] = [CoordinatorModule, ExecutorModule, ProjectorModule],
    { files, ...outside }: Partial<OutsideOptions> & { readonly files?: Partial<ArchiveSources> } = {},
  ): Promise<void> {
    const { trust, signers } = openKeyStore(join(this.folder, 'keys'), 'local');
    const keys = openTrustStore(trust);
    const { log, topics, close } = await this.openLog(keys);
    const attachment = (sha256: string) => log.attachment(sha256);
    const ports: Ports = {
      log,
      topics,
      leases: createMemoryLeases(() => performance.now()),
      keys,
      signers,
      trustStore: await log.putAttachment(trustStoreBytes(trust)),
      contracts: createContractStore({
        cacheDir: join(this.folder, 'cache'),
        sources: { attachment, allowed: [], ...files },
      }),
      requests: outsideRequests({
        audience: AUDIENCE,
        keys,
        log,
        topics,
        now: () => Date.now(),
        quotas: quotaDefaults,
        maxDeadlineMs: 72 * 3_600_000,
        sources: { allowed: [] },
        ...outside,
      }),
      models: { env: {} },
      software: SOFTWARE,
      leaseMs: 2_000,
      slots: 4,
      drives: () => true,
      now: () => Date.now(),
      random128: () => randomBytes(16).toString('hex'),
      below: (bound) => randomInt(bound),
      fatal: (error) => this.failures.push(error),
    };

    @Module({ imports: [RuntimeModule.with(ports), ...services] })
    class ClusterModule {}

    const app = await NestFactory.createApplicationContext(ClusterModule, { logger: false, abortOnError: false });
    onTestFinished(async () => {
      await app.close();
      await close();
    });
  }

  write(files: Readonly<Record<string, string>>): string {
    const folder = mkdtempSync(join(this.folder, 'contract-'));
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    return join(folder, 'contract.toml');
  }
}

export class MemoryCluster extends TestCluster {
  constructor() {
    const store = new MemoryStore();
    super(async (keys) => createMemoryLog({ keys, store }));
  }
}

/** An agent that is a program, and answers from a file of its workspace. */
export const PROGRAM = {
  'contract.toml': `id = "travels"
instructions = "Answer."
[workspace]
path = "work"
[agent]
kind = "command"
command = ["node", "agent.mjs"]
[[criteria]]
id = "yes"
kind = "match"
file = "answer.txt"
equals = "yes"
[budget]
timeout = "60s"
`,
  'agent.mjs': "import { copyFileSync } from 'node:fs';\ncopyFileSync('notes.txt', 'answer.txt');\n",
  'work/notes.txt': 'yes\n',
} as const;

export const CONSTANT = { 'contract.toml': constant() } as const;
