import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { openSqliteLog } from '#lib/event-log';
import { AGENT, agentContract, fixedContract, LEARNING, workplace } from './cli.testkit.js';
import { truss, withEnv } from './in-process.testkit.js';

const UNKNOWN = `ev_${'0'.repeat(32)}`;
const REQUEST = {
  kind: 'eval',
  requester: 'local',
  request_id: 'asked',
  contracts: [{ digest: '0'.repeat(64), contract: { id: 'asked' } }],
  repeats: 2,
  replicates: 1,
  seed: 1,
  concurrency: 1,
  starting_lessons: [],
  max_cost_nano_usd: null,
  deadline_ms: 1000,
  statistics: { method_version: 1, primary: 'steps', alpha: 0.05, margin: 0.1, min_units: 6 },
  files: [],
};

beforeEach(() => withEnv({ NO_COLOR: '1', FORCE_COLOR: undefined, TRUSS_DB: undefined }));

interface Evaluated {
  readonly db: string;
  readonly id: string;
  readonly contract: string;
  readonly at: (name: string) => string;
  /** Evaluates the same contract in the same database once more. */
  again(...more: readonly string[]): ReturnType<typeof truss>;
}

async function evaluated(contract = fixedContract(), agent = AGENT): Promise<Evaluated> {
  const { folder, db, write } = workplace();
  write('agent.mjs', agent);
  const file = join(folder, write('c.toml', contract));
  const again = (...more: readonly string[]) =>
    truss('eval', '--contract', file, '--repeats', '2', '--db', db, ...more);
  const { stdout } = await again();
  return { db, id: JSON.parse(stdout).eval_run_id, contract: file, at: (name) => join(folder, name), again };
}

test('an id that is not in a database exits 5, whatever asks for it', async () => {
  const { db, at } = await evaluated();
  for (const args of [
    ['verify', UNKNOWN],
    ['--verify', 'nonsense'],
    ['report', UNKNOWN],
    ['ledger', 'nonsense'],
    ['ledger', `${UNKNOWN}.0.on.1.1`],
    ['lessons', 'list', UNKNOWN],
    ['cancel', UNKNOWN],
    ['export', UNKNOWN, '-o', at('eval.jsonl')],
    ['eval', '--resume', UNKNOWN],
  ]) {
    const { code, stderr } = await truss(...args, '--db', db);
    expect(stderr).toMatch(/there is no evaluation .* in .*truss\.db/);
    expect(code).toBe(5);
  }
  expect(readdirSync(at('.'))).not.toContain('eval.jsonl.part');
});

test('as a gate a measured fail exits 3, and runs that nobody could judge are counted apart', async () => {
  const costly = AGENT.replace(
    'cost_usd: 0.001',
    'cost_usd: JSON.parse(readFileSync(process.env.TRUSS_CONTEXT)).lessons.length === 0 ? 0.001 : 0.002',
  ).replace('import { appendFileSync,', 'import { appendFileSync, readFileSync,');
  const worse = await evaluated(agentContract(1, 0, LEARNING), costly);
  const gated = await worse.again('--gate');
  expect(gated.stderr).toMatch(/verdict +fail: as many runs passed, at a greater cost/);
  expect(gated.code).toBe(3);
  const verified = await truss('verify', worse.id, '--db', worse.db);
  expect(verified.stdout).toContain('sibling_evaluations: another evaluation of the same contract');

  const criterion = 'kind = "command"\nrun = ["node", "-e", "process.exit(2)"]';
  const undecided = await evaluated(fixedContract().replace(/kind = "match"\n.*\n.*/, criterion));
  const again = await undecided.again();
  expect(again.stderr).toMatch(/unverifiable +2 +2 +0/);
  const markdown = await truss('report', undecided.id, '--format', 'md', '--db', undecided.db);
  expect(markdown.stdout).toContain('| learning on | 0 | 0 | 2 |');
});

test('the bar is drawn while runs go on, and gone when they are done', async () => {
  const { again } = await evaluated(agentContract(3, 150));
  const { stderr } = await again('--progress', 'bar');
  expect(stderr).toMatch(/stepper [━─]+ \d\/4 runs/);
  expect(stderr).toMatch(/learning off +\d pass {2}0 fail .*replicate 1 repeat \d, step \d/);
  expect(stderr.split('\u001b[?25h').at(-1)).not.toContain('━');
});

test('a spent budget ends an evaluation with exit 6 and its reason', async () => {
  const { again } = await evaluated(agentContract(1, 0));
  const { code, stderr } = await again('--max-cost-usd', '0.003');
  expect(stderr).toMatch(/was ended after \d of 4 runs: the evaluation's budget is spent/);
  expect(code).toBe(6);
});

test('what was asked for and not begun is listed so, has no report yet, and cannot be driven without its files', async () => {
  const { db } = await evaluated();
  const keys = { get: () => undefined };
  const { topics, close } = openSqliteLog({ file: db, keys, mode: 'read' });
  await topics.publish('eval.requested', 'asked', REQUEST);
  await close();
  const rows = (await truss('list', '--json', '--db', db)).stdout.trimEnd().split('\n');
  const { eval_run_id: id, state } = JSON.parse(rows[1] ?? '');
  expect(state).toBe('requested');
  expect((await truss('list', '--db', db)).stdout).toMatch(/asked +requested +0\/4 +- +-/);
  const report = await truss('report', id, '--db', db);
  expect(report.stderr).toMatch(/has no report yet: 0 runs of it are done/);
  expect(report.code).toBe(6);
  const resumed = await truss('eval', '--resume', id, '--db', db);
  expect(resumed.stderr).toContain('without saying where the files of its contract are');
  expect(resumed.code).toBe(2);
});

describe('refused with exit 2 and one message', () => {
  test('an exported file that is none, is of two evaluations, or comes without keys', async () => {
    const { db, id, at, again } = await evaluated();
    const other: string = JSON.parse((await again()).stdout).eval_run_id;
    await truss('export', id, '-o', at('one.jsonl'), '--db', db);
    await truss('export', other, '-o', at('other.jsonl'), '--db', db);
    writeFileSync(at('both.jsonl'), readFileSync(at('one.jsonl'), 'utf8') + readFileSync(at('other.jsonl'), 'utf8'));
    writeFileSync(at('none.jsonl'), '');
    writeFileSync(at('notes.jsonl'), 'my notes\n');
    const trust = join(`${db}.keys`, 'trust.json');
    for (const [file, says] of [
      ['both.jsonl', /holds entries of 2 evaluations: say which one/],
      ['none.jsonl', /holds no entry of an evaluation/],
      ['notes.jsonl', /notes\.jsonl:1/],
      ['gone.jsonl', /cannot be read/],
    ] as const) {
      const { code, stderr } = await truss('verify', '--bundle', at(file), '--trust', trust);
      expect(stderr).toMatch(says);
      expect(code).toBe(2);
    }
    expect((await truss('verify', other, '--bundle', at('both.jsonl'), '--trust', trust)).code).toBe(0);
    expect((await truss('verify', '--bundle', at('one.jsonl'))).stderr).toContain('--bundle needs --trust FILE');
    expect((await truss('verify', '--bundle', at('one.jsonl'), '--trust', at('c.toml'))).code).toBe(2);
    expect((await truss('verify', UNKNOWN, '--bundle', at('one.jsonl'), '--trust', trust)).code).toBe(5);
  });

  test('a head that is not on the chain is found, and one that is no hash refused', async () => {
    const { db, id } = await evaluated();
    expect((await truss('verify', id, '--expect-head', 'ab'.repeat(32), '--db', db)).code).toBe(4);
    expect((await truss('verify', id, '--expect-head', 'x', '--db', db)).code).toBe(2);
  });

  test.each([
    ['a bundle of lessons that is not there', ['--lessons', 'nope.jsonl'], /nope\.jsonl cannot be read/],
    ['a bundle of lessons that is none', ['--lessons', 'CONTRACT'], /Line 1 of the bundle/],
    ['a level out of range', ['--alpha', '1'], /above 0 and below 1/],
    ['a suite', ['--suite', 's.toml'], /--suite is not in this version/],
    ['a request id with spaces', ['--request-id', 'a b'], /visible ASCII/],
    ['too many repeats', ['--repeats', '1e9'], /and one evaluation of this contract can record/],
    ['a setting with --resume', ['--resume', UNKNOWN], /--contract cannot be given with --resume/],
  ] as const)('%s', async (_what, args, says) => {
    const { contract, again, db } = await evaluated();
    const before = (await truss('list', '--db', db)).stdout;
    const { code, stdout, stderr } = await again(...args.map((word) => (word === 'CONTRACT' ? contract : word)));
    expect(stderr).toMatch(says);
    expect(stdout).toBe('');
    expect(code).toBe(2);
    expect((await truss('list', '--db', db)).stdout).toBe(before);
  });

  test('lessons that nobody learned, or that cannot be written', async () => {
    const none = await evaluated();
    expect((await truss('lessons', 'list', none.id, '--db', none.db)).stdout).toContain('promoted a lesson');
    expect((await truss('lessons', 'export', none.id, '--db', none.db)).stderr).toContain('there is nothing to export');
    const some = await evaluated(agentContract(1, 0, LEARNING));
    mkdirSync(some.at('taken'));
    const refused = await truss('lessons', 'export', some.id, '-o', some.at('taken'), '--db', some.db);
    expect(refused.stderr).toContain('cannot be written');
    expect(refused.code).toBe(2);
    expect(readdirSync(some.at('.')).some((name) => name.endsWith('.new'))).toBe(false);
    expect((await truss('export', some.id, '-o', some.at('no/where.jsonl'), '--db', some.db)).code).toBe(2);
  });

  test('a format of a later release; with --debug it is said where that came from', async () => {
    const { code, stderr } = await truss('--debug', 'report', UNKNOWN, '--format', 'html');
    expect(stderr).toMatch(/--format html is not in this version/);
    expect(code).toBe(2);
    expect((await truss('--debug', 'eval')).stderr).toMatch(/\n {4}at /);
  });
});

test.each(['command', 'endpoint', 'coding-agent'])(
  'init --kind %s writes a contract that loads, and overwrites nothing',
  async (kind) => {
    const { folder } = workplace();
    const mine = join(folder, 'mine');
    const begun = await truss('init', '--kind', kind, mine);
    expect(begun.stdout).toContain('truss eval --contract');
    expect(begun.code).toBe(0);
    const again = await truss('init', '--kind', kind, mine);
    expect(again.stderr).toContain('is there already, and nothing is overwritten');
    expect(again.code).toBe(2);
  },
);
