import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { AGENT, agentContract, fixedContract, idIn, LEARNING, workplace } from './cli.testkit.js';
import { openEmbedded } from './embedded.js';
import { truss, withEnv } from './in-process.testkit.js';
import { REPORT_SCHEMA_FILE } from './report/schema.js';

const UNKNOWN = `ev_${'0'.repeat(32)}`;

beforeEach(() => withEnv({ NO_COLOR: '1', FORCE_COLOR: undefined, TRUSS_DB: undefined }));

interface Place {
  readonly folder: string;
  readonly db: string;
  readonly contract: string;
  readonly at: (name: string) => string;
}

/** A folder with an agent that learns, and its contract. */
function place(contract = agentContract(2, 0, LEARNING)): Place {
  const { folder, db, write } = workplace();
  write('agent.mjs', AGENT);
  write('c.toml', contract);
  return { folder, db, contract: join(folder, 'c.toml'), at: (name) => join(folder, name) };
}

/** An evaluation of which the first run is waiting for a file, interrupted. */
async function interrupted({ db, contract, at }: Place, ...more: readonly string[]): Promise<string> {
  const evaluating = truss('eval', '--contract', contract, '--repeats', '2', '--db', db, ...more);
  // The agent says that it has begun, and then waits for longer than any test.
  for (let i = 0; i < 3000 && !readdirSync(dirname(at('begun'))).includes('begun'); i++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  process.emit('SIGINT', 'SIGINT');
  const { code, stderr } = await evaluating;
  expect(code).toBe(6);
  expect(stderr).toContain('truss eval --resume');
  rmSync(at('begun'));
  return idIn(stderr);
}

/** A contract whose agent waits for ever the first time, and is done at once when `go` is there. */
function waiting(): Place {
  const made = place(agentContract(1, 0, '[workspace]\npath = "ws"\n'));
  mkdirSync(made.at('ws'));
  writeFileSync(join(made.at('ws'), 'notes.txt'), 'as pinned');
  writeFileSync(
    made.at('agent.mjs'),
    `import { existsSync, writeFileSync } from 'node:fs';
if (!existsSync(${JSON.stringify(made.at('go'))})) {
  writeFileSync(${JSON.stringify(made.at('begun'))}, '');
  setInterval(() => {}, 1000);
} else writeFileSync('answer.txt', 'spam');
`,
  );
  return made;
}

describe('one evaluation, by every command', () => {
  test('it is run, reported, listed, shown, checked, exported, checked again from the file, and too late to cancel', async () => {
    const { db, contract, at } = place();
    const evaluated = await truss('eval', '--contract', contract, '--repeats', '2', '--seed', '7', '--db', db);
    expect(evaluated.code).toBe(0);
    expect(evaluated.stderr).toContain('[4/4]');
    expect(evaluated.stderr).toMatch(/spend +\$0\.00\d in all/);
    const report = JSON.parse(evaluated.stdout);
    const id: string = report.eval_run_id;
    const schema = readFileSync(fileURLToPath(new URL(`../../../${REPORT_SCHEMA_FILE}`, import.meta.url)), 'utf8');
    const fits = new Ajv2020({ strict: true }).compile(JSON.parse(schema));
    expect(fits(report), JSON.stringify(fits.errors)).toBe(true);

    expect(JSON.parse((await truss('report', id, '--db', db)).stdout)).toEqual(report);
    expect((await truss('report', id, '--format', 'md', '--db', db)).stdout).toMatch(/^# stepper: (pass|fail)\n/);

    const listed = await truss('list', '--json', '--db', db);
    expect(JSON.parse(listed.stdout)).toMatchObject({ eval_run_id: id, state: 'complete', runs_done: 4 });
    expect((await truss('list', '--db', db)).stdout).toMatch(/stepper +complete +4\/4/);

    expect((await truss('ledger', id, '--db', db)).stdout).toMatch(/eval_started.*\n[\s\S]*eval_report/);
    const entries = (await truss('ledger', id, '--json', '--db', db)).stdout.trimEnd().split('\n');
    expect(entries.map((line) => JSON.parse(line).joining)).toEqual(entries.map(() => 'joined'));
    const run: string = report.arms[0].children[0].child_run_id;
    expect((await truss('ledger', run, '--db', db)).stdout).toMatch(/verdict +executor +pass/);

    expect((await truss('lessons', 'list', id, '--db', db)).stdout).toContain('Count first');
    const [lesson] = (await truss('lessons', 'list', id, '--json', '--db', db)).stdout.split('\n');
    expect(JSON.parse(lesson ?? '')).toMatchObject({ title: 'Count first', counters: { rendered: 1 } });
    const bundle = await truss('lessons', 'export', id, '--db', db);
    await truss('lessons', 'export', id, '-o', at('lessons.jsonl'), '--db', db);
    expect(readFileSync(at('lessons.jsonl'), 'utf8')).toBe(bundle.stdout);

    const verified = await truss('--db', db, '--verify', id);
    expect(verified.stdout).toMatch(/^valid /);
    expect(verified.code).toBe(0);
    expect(JSON.parse((await truss('verify', id, '--json', '--db', db)).stdout)).toMatchObject({ result: 'valid' });

    const exported = await truss('export', id, '-o', at('eval.jsonl'), '--db', db);
    expect(exported.stderr).toMatch(/eval\.jsonl: \d+ entries/);
    const trust = join(`${db}.keys`, 'trust.json');
    const again = await truss('verify', '--bundle', at('eval.jsonl'), '--trust', trust);
    expect(again.stdout).toMatch(/^valid /);
    expect(again.code).toBe(0);

    const cancelled = await truss('cancel', id, '--db', db);
    expect(cancelled.stderr).toContain('is complete, so there is nothing to cancel');
    expect(cancelled.code).toBe(2);
  });

  test('lessons of one evaluation are where the next one starts', async () => {
    const { db, contract, at } = place();
    const first = JSON.parse((await truss('eval', '--contract', contract, '--repeats', '1', '--db', db)).stdout);
    await truss('lessons', 'export', first.eval_run_id, '-o', at('lessons.jsonl'), '--db', db);
    const next = await truss(
      ...['eval', '--contract', contract, '--repeats', '1', '--lessons', at('lessons.jsonl'), '--db', db],
    );
    expect(JSON.parse(next.stdout).curve[0].learning_on.lessons_rendered).toBe(1);
  });

  test('a flipped bit in an exported file is found, with its ledger', async () => {
    const { db, contract, at } = place(fixedContract());
    const { stdout } = await truss('eval', '--contract', contract, '--repeats', '1', '--db', db);
    const id: string = JSON.parse(stdout).eval_run_id;
    await truss('export', id, '-o', at('eval.jsonl'), '--db', db);
    const lines = readFileSync(at('eval.jsonl'), 'utf8').split('\n');
    const envelope = JSON.parse(lines[3] ?? '');
    envelope.payload = `${envelope.payload.slice(0, 40)}${envelope.payload[40] === 'A' ? 'B' : 'A'}${envelope.payload.slice(41)}`;
    lines[3] = JSON.stringify(envelope);
    writeFileSync(at('eval.jsonl'), lines.join('\n'));
    const checked = await truss('verify', '--bundle', at('eval.jsonl'), '--trust', join(`${db}.keys`, 'trust.json'));
    expect(checked.stdout).toMatch(/^invalid /);
    expect(checked.code).toBe(4);
  });

  test('what nobody measured is unknown in the summary, and never $0.00', async () => {
    const { db, contract, at } = place(agentContract(1, 0));
    writeFileSync(at('agent.mjs'), "import { writeFileSync } from 'node:fs';\nwriteFileSync('answer.txt', 'spam');\n");
    const { stderr } = await truss('eval', '--contract', contract, '--repeats', '1', '--db', db);
    expect(stderr).toMatch(/spend +unknown in all, and 2 calls that nobody measured/);
    const fixed = place(fixedContract());
    const free = await truss('eval', '--contract', fixed.contract, '--repeats', '1', '--db', fixed.db);
    expect(free.stderr).toMatch(/spend +\$0\.00 in all\n/);
  });

  test('progress for programs is one JSON object a line, also for how it ended', async () => {
    const { db, contract } = place(fixedContract());
    const args = ['eval', '--contract', contract, '--repeats', '1', '--progress', 'json', '--db', db];
    const { stderr } = await truss(...args);
    const events = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).event);
    expect(events[0]).toBe('evaluation_started');
    expect(events.at(-1)).toBe('evaluation_reported');
  });
});

describe('an evaluation that was stopped', () => {
  test('goes on where it was, and nothing is asked again once it is over', async () => {
    const stopped = waiting();
    const id = await interrupted(stopped);
    const { db, at } = stopped;
    expect((await truss('report', id, '--db', db)).stderr).toMatch(/no report yet: 0 runs of it are done/);
    writeFileSync(at('go'), '');
    const resumed = await truss('eval', '--resume', id, '--db', db);
    expect(resumed.code).toBe(0);
    expect(JSON.parse(resumed.stdout).eval_run_id).toBe(id);
    // Even where the contract's files are gone: the report is there.
    rmSync(at('ws'), { recursive: true });
    expect((await truss('eval', '--resume', id, '--db', db)).stdout).toBe(resumed.stdout);
  });

  test.each([
    [
      'a program',
      (at: Place['at']) => writeFileSync(at('agent.mjs'), '// changed'),
      /: agent\.mjs has changed\. Put it back/,
    ],
    ['a program that is gone', (at: Place['at']) => rmSync(at('agent.mjs')), /: agent\.mjs cannot be read\. /],
    [
      'the workspace',
      (at: Place['at']) => writeFileSync(join(at('ws'), 'new.txt'), ''),
      /: the files of the workspace have changed\. /,
    ],
    [
      'the workspace that is gone',
      (at: Place['at']) => rmSync(at('ws'), { recursive: true }),
      /: the workspace cannot be read\. /,
    ],
  ] as const)(
    'is not resumed on other files than its plan pins: %s; exit 2, and nothing is written',
    async (_what, change, says) => {
      const stopped = waiting();
      const id = await interrupted(stopped);
      const { db, at } = stopped;
      writeFileSync(at('go'), '');
      const before = (await truss('ledger', id, '--json', '--db', db)).stdout;
      change(at);
      const { code, stdout, stderr } = await truss('eval', '--resume', id, '--db', db);
      expect(stderr).toMatch(says);
      expect(stdout).toBe('');
      expect(code).toBe(2);
      expect((await truss('ledger', id, '--json', '--db', db)).stdout).toBe(before);
    },
  );

  test('is not resumed without the key of its model: exit 2, and nothing is written', async () => {
    // Both arms ask it, it never answers, and a second signal would end this process.
    const server = createServer().once('request', () => process.emit('SIGINT', 'SIGINT'));
    onTestFinished(() => void server.close());
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    withEnv({ TRUSS_TEST_KEY: 'a-key-for-nobody' });
    const model = `[providers.main]\nkind = "openai-compatible"\nmodel = "m"\nbase_url = "http://127.0.0.1:${port}/v1"\napi_key_env = "TRUSS_TEST_KEY"\n`;
    const { db, contract } = place(
      fixedContract(model).replace(/kind = "fixed"\n.*\n.*\n/, 'kind = "llm"\nprovider = "main"\ntools = []\n'),
    );
    const stopped = await truss('eval', '--contract', contract, '--repeats', '1', '--concurrency', '1', '--db', db);
    expect(stopped.stderr).toContain('stopped: by Ctrl-C');
    const id = idIn(stopped.stderr);
    const before = (await truss('ledger', id, '--json', '--db', db)).stdout;
    withEnv({ TRUSS_TEST_KEY: undefined });
    const { code, stderr } = await truss('eval', '--resume', id, '--db', db);
    expect(stderr).toMatch(/provider `main`: Set the variable TRUSS_TEST_KEY/);
    expect(code).toBe(2);
    expect((await truss('ledger', id, '--json', '--db', db)).stdout).toBe(before);
    server.closeAllConnections();
  });

  test('named by its request id, it goes on in another folder with the same files, and not with others', async () => {
    const stopped = waiting();
    const { db, contract, at } = stopped;
    const id = await interrupted(stopped, '--request-id', 'nightly');
    writeFileSync(at('go'), '');
    const args = ['eval', '--contract', contract, '--repeats', '2', '--request-id', 'nightly', '--db', db];
    const agent = readFileSync(at('agent.mjs'));
    writeFileSync(at('agent.mjs'), '// changed');
    const before = (await truss('ledger', id, '--json', '--db', db)).stdout;
    const refused = await truss(...args);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('the request id nightly was used');
    expect((await truss('ledger', id, '--json', '--db', db)).stdout).toBe(before);
    mkdirSync(at('moved'));
    for (const name of ['c.toml', 'ws']) cpSync(at(name), join(at('moved'), name), { recursive: true });
    writeFileSync(join(at('moved'), 'agent.mjs'), agent);
    const moved = args.map((word) => (word === contract ? join(at('moved'), 'c.toml') : word));
    const { code, stdout } = await truss(...moved);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).eval_run_id).toBe(id);
  });

  test('is cancelled without running anything, once', async () => {
    const stopped = waiting();
    const id = await interrupted(stopped);
    const { db } = stopped;
    const cancelled = await truss('cancel', id, '--reason', 'wrong contract', '--db', db);
    expect(cancelled.stdout).toContain(`${id} is cancelled: 0 runs of it stay recorded`);
    expect(cancelled.code).toBe(0);
    expect((await truss('cancel', id, '--db', db)).stderr).toContain('was cancelled before: wrong contract');
    const resumed = await truss('eval', '--resume', id, '--db', db);
    expect(resumed.stderr).toMatch(/was cancelled before the first run|was cancelled after 0 of 4 runs/);
    expect(resumed.code).toBe(6);
    expect((await truss('report', id, '--db', db)).code).toBe(6);
    expect((await truss('verify', id, '--db', db)).code).toBe(4);
  });

  test('is not cancelled by a process that drives another one: that is said with exit 6, and it is done when it is next driven', async () => {
    const stopped = waiting();
    const id = await interrupted(stopped);
    const { db } = stopped;
    const driver = await openEmbedded({ db, fatal: () => {} });
    await driver.start();
    const begun = performance.now();
    const { code, stdout, stderr } = await truss('cancel', id, '--db', db);
    await driver.stop();
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^stopped: the cancel of ev_\w+ is recorded, and nothing has come of it yet/);
    expect(stderr).toContain(`truss cancel ${id} --db ${db}`);
    expect(code).toBe(6);
    const resumed = await truss('eval', '--resume', id, '--db', db);
    expect(resumed.stderr).toContain('cancelled by hand');
    expect(resumed.code).toBe(6);
  });
});

describe('a database', () => {
  test('that does not exist has no evaluation: with an id exit 5, to list it exit 2, and nothing is made', async () => {
    const { folder, db, at } = place();
    for (const args of [
      ['report', UNKNOWN],
      ['ledger', UNKNOWN],
      ['ledger', `${UNKNOWN}.0.on.1.1`],
      ['verify', UNKNOWN],
      ['export', UNKNOWN, '-o', at('eval.jsonl')],
      ['lessons', 'list', UNKNOWN],
      ['lessons', 'export', UNKNOWN],
      ['cancel', UNKNOWN],
      ['eval', '--resume', UNKNOWN],
    ]) {
      const { code, stderr } = await truss(...args, '--db', db);
      expect(stderr).toMatch(/^error: there is no evaluation ev_0+[.\w]*: .*truss\.db does not exist yet/);
      expect(code).toBe(5);
    }
    expect((await truss('list', '--db', db)).code).toBe(2);
    expect(readdirSync(folder).toSorted()).toEqual(['agent.mjs', 'c.toml']);
  });

  test('that cannot be started is gone again, with its keys and its lock', async () => {
    const { folder, db } = place();
    const broken = openEmbedded({
      db,
      fatal: () => {},
      wrap: (open) => ({ ...open, log: { ...open.log, putAttachment: () => Promise.reject(new Error('no')) } }),
    });
    await expect(broken).rejects.toThrow('no');
    expect(readdirSync(folder).toSorted()).toEqual(['agent.mjs', 'c.toml']);
  });

  test('keeps keys that were made before it, when it cannot be started', async () => {
    const { folder, db, contract } = place(fixedContract());
    await truss('keys', 'init', '--db', db);
    rmSync(join(`${db}.keys`, 'trust.json'));
    const { code, stderr } = await truss('eval', '--contract', contract, '--repeats', '1', '--db', db);
    expect(stderr).toMatch(/coordinator\.key is there already/);
    expect(code).toBe(2);
    expect(readdirSync(folder).toSorted()).toEqual(['agent.mjs', 'c.toml', 'truss.db.keys']);
    expect(readdirSync(`${db}.keys`)).toHaveLength(3);
  });

  test('has keys that are made once and never overwritten', async () => {
    const { db } = place();
    expect((await truss('keys', 'init', '--db', db)).stdout).toMatch(/coordinator +active +local/);
    expect((await truss('keys', 'init', '--db', db)).stdout).toContain('nothing was changed');
    expect(JSON.parse((await truss('keys', 'list', '--json', '--db', db)).stdout).keys).toHaveLength(3);
    rmSync(join(`${db}.keys`, 'trust.json'));
    const again = await truss('keys', 'init', '--db', db);
    expect(again.stderr).toMatch(/is not overwritten: put trust\.json back/);
    expect(again.code).toBe(2);
  });
});

test('doctor exits 0 where all is well, and 2 where something must be mended', async () => {
  const { db } = place();
  expect((await truss('doctor', '--db', db)).code).toBe(0);
  writeFileSync(db, 'my notes, and no database');
  const sick = await truss('doctor', '--db', db);
  expect(sick.stdout).toMatch(/bad +database/);
  expect(sick.code).toBe(2);
});

test('help has an example for every command and every group of commands', async () => {
  const names = [
    'init',
    'eval',
    'verify',
    'report',
    'list',
    'ledger',
    'cancel',
    'export',
    'lessons',
    'keys',
    'serve',
    'doctor',
  ];
  for (const name of [[], ...names.map((one) => [one]), ['lessons', 'list'], ['keys', 'init']]) {
    const { code, stdout } = await truss(...name, '--help');
    expect(stdout).toMatch(/\nExamples?:\n {2}truss /);
    expect(code).toBe(0);
  }
});

test('a command that is misspelt, or set up for a cluster, is refused with exit 2', async () => {
  expect(await truss('evaluate')).toMatchObject({ code: 2, stderr: expect.stringContaining('no command evaluate') });
  expect(await truss()).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage: truss') });
  withEnv({ TRUSS_BROKERS: 'h:9092' });
  const evaluate = await truss('eval', '--contract', 'c.toml', '--repeats', '1');
  expect(evaluate).toMatchObject({ code: 2, stderr: expect.stringContaining('TRUSS_BROKERS is set') });
  const list = await truss('list');
  expect(list).toMatchObject({ code: 2, stderr: expect.stringContaining('TRUSS_REGISTRY: is not set') });
});
