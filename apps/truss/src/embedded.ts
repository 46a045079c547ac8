import 'reflect-metadata';
import { randomBytes, randomInt } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CoordinatorModule } from '#app/coordinator';
import { ExecutorModule } from '#app/executor';
import { ProjectorModule } from '#app/projector';
import { createMemoryLeases, LogError, openSqliteLog, type OpenLog } from '#lib/event-log';
import { type EvalRequested, evaluationOf } from '#lib/evaluation';
import { type KeyStore, KeyStoreError, openKeyStore, trustFile } from '#lib/key-store';
import { type EvalRunId, type KeyRing, openTrustStore, trustStoreBytes } from '#lib/ledger';
import type { LiveDeps } from '#lib/providers';
import { directRequests } from '#lib/requests';
import { type ContractFiles, EvaluationViews, type OpenView, type Ports, RuntimeModule } from '#lib/runtime';
import { keysFolder, OPERATOR } from './database.js';
import { keepHeapSmall } from './heap.js';
import { SOFTWARE } from './software.js';

export interface EmbeddedOptions {
  /** The SQLite file; its keys are in the folder `<file>.keys` beside it. */
  readonly db: string;
  /** Called at an error from which the process cannot go on. What was confirmed is kept. */
  readonly fatal: (error: unknown) => void;
  /** False: nothing is run, for a process that only brings an evaluation to its end. Absent: true. */
  readonly runs?: boolean;
  /** How models are reached; absent: with the keys of this process's environment. */
  readonly models?: LiveDeps;
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

/**
 * Opens the database to drive it; makes it, and its keys, where there is none. Fails without leaving anything behind.
 * @throws LogError, KeyStoreError
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { db } = options;
  keepHeapSmall();
  const existed = { db: existsSync(db), keys: existsSync(keysFolder(db)) };
  let ring: KeyRing = { get: () => undefined };
  // The right to drive comes first: of two processes that start on no database, one makes the keys.
  const log = openSqliteLog({ file: db, keys: { get: (id) => ring.get(id) }, mode: 'drive' });
  try {
    const store = await keysOf(db, log);
    const keys = openTrustStore(store.trust);
    ring = keys;
    return await embed(options.wrap?.(log) ?? log, { store, keys }, options);
  } catch (error) {
    // While the right to drive is still held: once it is given back, what lies there may be another process's.
    if (!existed.db && (await isEmpty(log))) {
      for (const suffix of ['', '-wal', '-shm', '-driver']) rmSync(db + suffix, { force: true });
      if (!existed.keys) rmSync(keysFolder(db), { recursive: true, force: true });
    }
    await log.close();
    throw error;
  }
}

/** Another process may have made the database, and asked for something, between our look and our lock. */
async function isEmpty({ log, topics }: OpenLog): Promise<boolean> {
  for await (const _ of log.evaluations()) return false;
  for await (const _ of topics.list('eval.requested')) return false;
  return true;
}

async function keysOf(db: string, { log }: OpenLog): Promise<KeyStore> {
  const folder = keysFolder(db);
  if (existsSync(trustFile(folder))) return openKeyStore(folder, OPERATOR);
  for await (const evaluation of log.evaluations()) {
    // What is there was signed by keys that others trust: new ones could not go on with it.
    throw new KeyStoreError(
      'keys_missing',
      `the keys of ${db} are gone from ${folder}, and ${evaluation} was signed with them: put them back, or give another --db`,
    );
  }
  return openKeyStore(folder, OPERATOR);
}

async function embed(
  open: OpenLog,
  { store, keys }: { store: KeyStore; keys: KeyRing },
  options: EmbeddedOptions,
): Promise<Embedded> {
  let stopping = false;
  const driven = new Set<EvalRunId>();
  const files = new Map<string, ContractFiles>();
  const ports: Ports = {
    log: open.log,
    topics: open.topics,
    leases: createMemoryLeases(() => performance.now()),
    keys,
    signers: store.signers,
    trustStore: await open.log.putAttachment(trustStoreBytes(store.trust)),
    contracts: { fetch: async () => {}, locate: (digest) => files.get(digest) ?? null, whyNot: () => null },
    requests: directRequests,
    models: options.models ?? { env: process.env },
    software: SOFTWARE,
    leaseMs: 10_000,
    // As many as the plan has pairs side by side: its owner asks for no more.
    slots: Number.POSITIVE_INFINITY,
    drives: (evaluation) => driven.has(evaluation),
    now: () => Date.now(),
    random128: () => randomBytes(16).toString('hex'),
    below: (bound) => randomInt(bound),
    // What still wants to write while everything stops is refused by the closed log, and done at the next start.
    fatal: (error) => {
      if (!(stopping && error instanceof LogError && error.code === 'log_closed')) options.fatal(error);
    },
  };

  const views = new EvaluationViews({ log: open.log });

  const services =
    options.runs === false
      ? [CoordinatorModule, ProjectorModule]
      : [CoordinatorModule, ExecutorModule, ProjectorModule];

  @Module({ imports: [RuntimeModule.with(ports, views), ...services] })
  class EmbeddedModule {}

  let app: INestApplicationContext | null = null;
  return {
    open,
    drive: (evaluation) => void driven.add(evaluation),
    locate: (digest, where) => void files.set(digest, where),
    async submit(request) {
      const evaluation = evaluationOf(request);
      driven.add(evaluation);
      await open.topics.publish('eval.requested', evaluation, request);
      return evaluation;
    },
    async start() {
      app = await NestFactory.createApplicationContext(EmbeddedModule, { logger: false, abortOnError: false });
    },
    follow: (evaluation) => views.open(evaluation),
    async stop() {
      stopping = true;
      await app?.close();
      await open.close();
    },
  };
}
