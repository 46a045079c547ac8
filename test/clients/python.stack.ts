import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type EvalRunId, evalRunId } from '#lib/ledger';
import { Deployment } from '../faults/deployment.testkit.js';
import { undisturbed } from '../faults/outcome.testkit.js';
import { Work } from '../faults/work.testkit.js';

const CLIENT = join(import.meta.dirname, '../../examples/clients/python');
const PLAN = { repeats: 2, replicates: 1, seed: 7 };
const { brokers, registry } = inject('stack');
const run = promisify(execFile);

const work = new Work();
let python: { readonly path: string } | { readonly missing: string };
let at: Deployment;

beforeAll(async () => {
  python = await interpreter();
  if ('path' in python) at = await Deployment.deploy({ stack: inject('stack') });
});
afterAll(async () => {
  await at?.close();
  work.close();
});

/** The packages of the client in an environment of their own, made once for its requirements as they are; or why it cannot be. */
async function interpreter(): Promise<typeof python> {
  const requirements = join(CLIENT, 'requirements.txt');
  const name = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16);
  const { TRUSS_STACK_HOME, XDG_CACHE_HOME = join(homedir(), '.cache'), CI } = process.env;
  const home = TRUSS_STACK_HOME ?? join(XDG_CACHE_HOME, 'truss-stack');
  const folder = join(home, `python-${name}`);
  const made = { path: join(folder, 'bin/python') };
  if (existsSync(made.path)) return made;
  const fresh = `${folder}.${process.pid}`;
  try {
    mkdirSync(home, { recursive: true });
    await run('python3', ['-m', 'venv', fresh]);
    await run(join(fresh, 'bin/python'), ['-m', 'pip', 'install', '--quiet', '--no-input', '-r', requirements]);
    renameSync(fresh, folder);
    return made;
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    const missing = `the Python client cannot be tested here: ${String(error).slice(0, 300)}`;
    if (CI !== undefined) throw new Error(missing, { cause: error });
    return { missing };
  }
}

interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the client as its README says. */
async function evaluate(path: string, contract: string, digest: string, requestId: string): Promise<Said> {
  const options = { brokers: brokers.join(','), registry, prefix: at.prefix, contract, digest };
  const plan = { requester: 'a-python', 'request-id': requestId, ...PLAN, timeout: 120 };
  const args = Object.entries({ ...options, ...plan }).flatMap(([name, value]) => [`--${name}`, String(value)]);
  try {
    return { code: 0, ...(await run(path, [join(CLIENT, 'evaluate.py'), ...args])) };
  } catch (error) {
    const { code, stdout, stderr } = error as Said;
    return { code, stdout, stderr };
  }
}

test('the client in Python asks for a registered contract and is given its report; one that is not registered is refused', async (context) => {
  if ('missing' in python) return context.skip(python.missing);
  const { path } = python;
  const file = work.programContract(10);
  const calm = await undisturbed(file, PLAN);
  work.clear();

  const unknown = await evaluate(path, 'program', '0'.repeat(64), 'refused');
  expect(unknown).toMatchObject({ code: 4, stderr: expect.stringContaining('refused: contract_not_registered') });

  const registered = await at.truss('contracts', 'register', file, '--key', join(at.folder, 'keys', 'requester.key'));
  expect(registered, registered.stderr).toMatchObject({ code: 0 });
  const [digest = ''] = /\b[0-9a-f]{64}\b/.exec(registered.stdout) ?? [];
  const said = await evaluate(path, 'program', digest, 'asked');
  expect(said, said.stderr).toMatchObject({ code: 0 });

  const report = JSON.parse(said.stdout) as { readonly eval_run_id: EvalRunId; readonly verdict: string };
  expect(report.eval_run_id).toBe(evalRunId('a-python', 'asked'));
  expect(await at.outcomeOf(report.eval_run_id)).toEqual(calm);
  expect(report.verdict).toBe(calm.measured.verdict);
  expect(work.done('agent')).toHaveLength(2 * PLAN.repeats);
  await at.verify(report.eval_run_id);

  // The same again is the same evaluation: its report stands there already, and nothing runs.
  const again = await evaluate(path, 'program', digest, 'asked');
  expect(JSON.parse(again.stdout)).toEqual(report);
  expect(work.done('agent')).toHaveLength(2 * PLAN.repeats);
});
