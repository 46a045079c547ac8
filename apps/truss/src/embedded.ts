import 'reflect-metadata';
import { randomBytes, randomInt } from 'node:crypto';
import { existsSync, rmSync, statSync } from 'node:fs';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CoordinatorModule } from '#app/coordinator';
import { ExecutorModule } from '#app/executor';
import { ProjectorModule } from '#app/projector';
import { createMemoryLeases, openSqliteLog, type OpenLog } from '#lib/event-log';
import { type EvalRequested, evaluationOf } from '#lib/evaluation';
import { createKeys, KeyStoreError, openKeyStore, trustFile } from '#lib/key-store';
import { type EvalRunId, type JsonValue, openTrustStore, trustStoreBytes } from '#lib/ledger';
import { type ContractFiles, EvaluationViews, type OpenView, type Ports, RuntimeModule } from '#lib/runtime';
import { SOFTWARE } from './software.js';

export interface EmbeddedOptions {
  /** The SQLite file; its keys are in the folder `<file>.keys` beside it. */
  readonly db: string;
  /** Called at an error from which the process cannot go on. What was confirmed is kept. */
  readonly fatal: (error: unknown) => void;
  /** Wraps the log, for tests that need to see or break what passes. */
  readonly wrap?: (log: OpenLog) => OpenLog;
}

/** The coordinator, executor and projector in one process on one SQLite file. */
export interface Embedded {
  readonly open: OpenLog;
  /** Drives an evaluation that is asked for now, or was before. */
  drive(evaluation: EvalRunId): void;
  /** Tells where the files of a contract are. */
  locate(digest: string, files: ContractFiles): void;
  submit(request: EvalRequested): Promise<EvalRunId>;
  /** Starts the services; before, nothing runs. */
  start(): Promise<void>;
  follow(evaluation: EvalRunId): Promise<OpenView>;
  stop(): Promise<void>;
}

/** The folder of a database's keys. */
export function keysFolder(db: string): string {
  return `${db}.keys`;
}

/**
 * Opens the database to drive it; makes it, and its keys, where there is none. Fails without leaving anything behind.
 * @throws LogError, KeyStoreError
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const folder = keysFolder(options.db);
  const fresh = !existsSync(trustFile(folder));
  if (fresh && existsSync(options.db) && statSync(options.db).size > 0 && statSync(options.db).isFile()) {
    // A file that is not ours says so itself; one that is ours cannot be driven without the keys that signed it.
    openSqliteLog({ file: options.db, keys: { get: () => undefined }, mode: 'read' });
    throw new KeyStoreError('keys_missing', `the keys of ${options.db} are gone from ${folder}: put them back, or give another --db`);
  }
  let log: OpenLog;
  let store: ReturnType<typeof openKeyStore>;
  try {
    if (fresh) createKeys(folder, 'local');
    store = openKeyStore(folder, 'local');
    log = openSqliteLog({ file: options.db, keys: openTrustStore(store.trust), mode: 'drive' });
  } catch (error) {
    if (fresh) rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return embed(options.wrap?.(log) ?? log, store, options.fatal);
}

async function embed(open: OpenLog, store: ReturnType<typeof openKeyStore>, fatal: (error: unknown) => void): Promise<Embedded> {
  const driven = new Set<EvalRunId>();
  const files = new Map<string, ContractFiles>();
  const ports: Ports = {
    log: open.log,
    topics: open.topics,
    leases: createMemoryLeases(() => performance.now()),
    keys: openTrustStore(store.trust),
    signers: store.signers,
    trustStore: await open.log.putAttachment(trustStoreBytes(store.trust)),
    contracts: { locate: (digest) => files.get(digest) ?? null },
    software: SOFTWARE,
    leaseMs: 10_000,
    drives: (evaluation) => driven.has(evaluation),
    now: () => Date.now(),
    random128: () => randomBytes(16).toString('hex'),
    below: (bound) => randomInt(bound),
    fatal,
  };

  const views = new EvaluationViews(open.log);

  @Module({ imports: [RuntimeModule.with(ports, views), CoordinatorModule, ExecutorModule, ProjectorModule] })
  class EmbeddedModule {}

  let app: INestApplicationContext | null = null;
  return {
    open,
    drive: (evaluation) => void driven.add(evaluation),
    locate: (digest, where) => void files.set(digest, where),
    async submit(request) {
      const evaluation = evaluationOf(request);
      driven.add(evaluation);
      await open.topics.publish('eval.requested', evaluation, request as JsonValue);
      return evaluation;
    },
    async start() {
      app = await NestFactory.createApplicationContext(EmbeddedModule, { logger: false, abortOnError: false });
    },
    follow: (evaluation) => views.open(evaluation),
    async stop() {
      await app?.close();
      await open.close();
    },
  };
}
