import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { freePorts } from './ports.testkit.js';

/** The broker, registry and Redis that all tests of the project `stack` share: each takes a prefix of its own for all names. */
export interface Stack {
  /** `host:port` each. */
  readonly brokers: string[];
  /** The URL of the Confluent-compatible API. */
  readonly registry: string;
  /** A `redis:` URL. */
  readonly redis: string;
  /** In CI, why there is no stack: every file of the project fails with it. */
  readonly missing?: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    stack: Stack;
  }
}

const SCRIPT = join(import.meta.dirname, '../../deploy/local/stack');
/** The script's exit code for "no stack can be had on this machine". */
const UNAVAILABLE = 3;

/** Uses the stack that TRUSS_BROKERS, TRUSS_REGISTRY and TRUSS_REDIS name; else starts one, on free ports, for this run of the tests. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = stackOf(process.env);
  if (given !== undefined) {
    project.provide('stack', given);
    return undefined;
  }
  const state = mkdtempSync(join(tmpdir(), 'truss-stack-'));
  const [kafka, controller, registry, redis] = await freePorts(4);
  const environment = {
    ...process.env,
    TRUSS_STACK_STATE: state,
    TRUSS_STACK_KAFKA_PORT: String(kafka),
    TRUSS_STACK_CONTROLLER_PORT: String(controller),
    TRUSS_STACK_REGISTRY_PORT: String(registry),
    TRUSS_STACK_REDIS_PORT: String(redis),
  };
  const up = await run('up', environment);
  const teardown = async (): Promise<void> => {
    await run('down', environment);
    rmSync(state, { recursive: true, force: true });
  };
  if (up.code === UNAVAILABLE) {
    await teardown();
    skipAll(project, up.stderr.trim());
    return undefined;
  }
  const started = stackOf(exportsOf(up.stdout));
  if (up.code !== 0 || started === undefined) {
    await teardown();
    throw new Error(`deploy/local/stack up failed (exit code ${up.code}): ${up.stderr.trim()}`);
  }
  project.provide('stack', started);
  return teardown;
}

/** Tests that cannot run are shown as skipped, and their hooks do not run; CI must have a stack, so there they fail. */
function skipAll(project: TestProject, reason: string): void {
  const nothing: Stack = { brokers: [], registry: '', redis: '' };
  if (process.env.CI !== undefined) {
    project.provide('stack', { ...nothing, missing: reason });
    return;
  }
  project.provide('stack', nothing);
  project.config.testNamePattern = /(?!)/;
  process.stderr.write(`${reason}\nThe tests of the project "stack" are skipped.\n`);
}

function stackOf(environment: Readonly<Record<string, string | undefined>>): Stack | undefined {
  const { TRUSS_BROKERS: brokers, TRUSS_REGISTRY: registry, TRUSS_REDIS: redis } = environment;
  if (brokers === undefined && registry === undefined && redis === undefined) return undefined;
  if (brokers === undefined || registry === undefined || redis === undefined) {
    throw new Error(
      'Set all three of TRUSS_BROKERS, TRUSS_REGISTRY and TRUSS_REDIS to use a stack that runs, or none of them.',
    );
  }
  return { brokers: brokers.split(','), registry, redis };
}

/** What `stack up` prints: `export NAME=value` lines. */
function exportsOf(stdout: string): Record<string, string> {
  return Object.fromEntries(
    [...stdout.matchAll(/^export (\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
}

function run(
  command: string,
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(SCRIPT, [command], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const out = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (out.stderr += text));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...out }));
  });
}
