import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { BIN, fixedContract, workplace } from './cli.testkit.js';

const EVAL = ['eval', '--contract', 'c.toml', '--repeats', '1'];
const cases2 = '[[cases]]\nid = "a"\n[[cases]]\nid = "b"\n';

interface Bad {
  readonly what: string;
  readonly args?: readonly string[];
  readonly contract?: string;
  readonly says: RegExp;
}

const BAD: readonly Bad[] = [
  {
    what: 'a contract that is not there',
    args: ['eval', '--contract', 'nope.toml', '--repeats', '1'],
    says: /nope\.toml/,
  },
  { what: 'no contract', args: ['eval', '--repeats', '1'], says: /--contract FILE, or --resume ID/ },
  { what: 'TOML that is none', contract: 'id = "x', says: /c\.toml:1:\d+/ },
  {
    what: 'an unknown key',
    contract: fixedContract('max_step = 2\n'),
    says: /unknown key `max_step` at c\.toml:\d+:1: did you mean `max_steps`/,
  },
  {
    what: 'a wrong type',
    contract: fixedContract().replace('max_steps = 1', 'max_steps = "1"'),
    says: /c\.toml:\d+:\d+/,
  },
  { what: 'no budget', contract: fixedContract().replace('[budget]\nmax_steps = 1', ''), says: /budget/ },
  {
    what: 'no criteria',
    contract: 'id = "x"\ninstructions = "i"\n[agent]\nkind = "fixed"\nanswer_text = "a"\n[budget]\nmax_steps = 1\n',
    says: /criteria/,
  },
  {
    what: 'a language model whose key is not there',
    contract: fixedContract(
      '[providers.main]\nkind = "openai"\nmodel = "m"\napi_key_env = "TRUSS_NO_SUCH_KEY"\n',
    ).replace('kind = "fixed"\nanswer = "answer.txt"\nanswer_text = "spam"', 'kind = "llm"\nprovider = "main"'),
    says: /provider `main`: Set the variable TRUSS_NO_SUCH_KEY/,
  },
  {
    what: 'a workspace outside',
    contract: fixedContract('[workspace]\npath = "../"\n'),
    says: /outside the contract's folder/,
  },
  { what: 'a missing workspace', contract: fixedContract('[workspace]\npath = "ws"\n'), says: /no workspace `ws`/ },
  {
    what: 'fewer cases than repeats',
    contract: fixedContract(cases2),
    args: ['eval', '--contract', 'c.toml', '--repeats', '3'],
    says: /at most --repeats 2/,
  },
  { what: 'no number of repeats', args: ['eval', '--contract', 'c.toml'], says: /--repeats N/ },
  ...['0', '-1', '1.5', 'x'].map((repeats) => ({
    what: `--repeats ${repeats}`,
    args: ['eval', '--contract', 'c.toml', '--repeats', repeats],
    says: /'--repeats <n>' argument '.*' is invalid\. Expected a whole number from 1 on/,
  })),
  {
    what: '--repeats 1e9',
    args: ['eval', '--contract', 'c.toml', '--repeats', '1e9'],
    says: /2,000,000,000 child runs, and one evaluation/,
  },
  { what: 'a misspelt option', args: [...EVAL, '--replicate', '2'], says: /Did you mean --replicates/ },
  { what: 'an unknown command', args: ['evaluate'], says: /there is no command evaluate/ },
  { what: 'a level out of range', args: [...EVAL, '--alpha', '1'], says: /above 0 and below 1/ },
  {
    what: 'an unknown metric',
    args: [...EVAL, '--primary', 'tokens'],
    says: /pass_rate, cost_usd, steps, total_tokens/,
  },
  { what: 'a budget of nothing', args: [...EVAL, '--max-cost-usd', '0'], says: /amount in USD above 0/ },
  { what: 'a suite', args: ['eval', '--suite', 's.toml', '--repeats', '1'], says: /--suite is not in this version/ },
  { what: 'controls', args: [...EVAL, '--controls', 'empty'], says: /--controls is not in this version/ },
  { what: 'brokers', args: [...EVAL, '--brokers', 'h:9092'], says: /a database/ },
  {
    what: 'a bundle that is not there',
    args: [...EVAL, '--lessons', 'nope.jsonl'],
    says: /nope\.jsonl cannot be read/,
  },
  { what: 'a bundle that is none', args: [...EVAL, '--lessons', 'c.toml'], says: /Line 1 of the bundle/ },
  {
    what: 'a --db in no folder',
    args: [...EVAL, '--db', 'no/where.db'],
    says: /the folder of .*where\.db does not exist/,
  },
  { what: 'a --db that is a folder', args: [...EVAL, '--db', '.'], says: /is not a file/ },
  { what: 'a --db that is no database', args: [...EVAL, '--db', 'c.toml'], says: /no SQLite database/ },
  { what: 'a database that does not exist, to read', args: ['list'], says: /does not exist yet/ },
  {
    what: 'a format of a later release',
    args: ['report', `ev_${'0'.repeat(32)}`, '--format', 'html'],
    says: /--format html is not in this version/,
  },
  {
    what: 'a setting with --resume',
    args: ['eval', '--resume', `ev_${'0'.repeat(32)}`, '--repeats', '4'],
    says: /--repeats cannot be given with --resume/,
  },
];

test.concurrent.for(BAD)(
  '$what: one clear message, exit 2, nothing written',
  async ({ args = EVAL, contract = fixedContract(), says }, { expect, onTestFinished }) => {
    const { run, write, files } = workplace(onTestFinished);
    write('c.toml', contract);
    const { code, stdout, stderr } = await run(args);
    expect(stderr).toMatch(says);
    expect(stderr).toMatch(/^error: /);
    expect(stderr).not.toMatch(/\n {4}at /);
    expect(stdout).toBe('');
    expect(code).toBe(2);
    expect(files()).toEqual(['c.toml']);
  },
);

describe('a --db that cannot be used is refused and left as it is', () => {
  async function refused(prepare: (db: string) => void): Promise<string> {
    const { run, write, files, db } = workplace();
    write('c.toml', fixedContract());
    prepare(db);
    const before = files();
    const { code, stderr } = await run([...EVAL, '--db', db]);
    expect(code).toBe(2);
    expect(files()).toEqual(before);
    return stderr;
  }

  test('of another program', async () => {
    const made = (db: string) => {
      const other = new DatabaseSync(db);
      other.exec('CREATE TABLE theirs (a)');
      other.close();
    };
    expect(await refused(made)).toContain('is a database of another program');
  });

  test('of a newer version', async () => {
    const made = (db: string) => {
      const newer = new DatabaseSync(db);
      newer.exec('PRAGMA application_id = 0x54525353; PRAGMA user_version = 999; CREATE TABLE entries (a)');
      newer.close();
    };
    expect(await refused(made)).toContain('format 999');
  });

  test('damaged', async () => {
    expect(
      await refused((db) => writeFileSync(db, Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(500, 7)]))),
    ).toMatch(/damaged|no SQLite database/);
  });
});

test('an id that is not in the database exits 5, whatever asks for it', async () => {
  const { run, write, db } = workplace();
  write('c.toml', fixedContract());
  await run([...EVAL, '--db', db]);
  const unknown = `ev_${'0'.repeat(32)}`;
  for (const args of [
    ['verify', unknown],
    ['--verify', 'nonsense'],
    ['report', unknown],
    ['ledger', unknown],
    ['ledger', `${unknown}.0.on.1.1`],
    ['lessons', 'list', unknown],
    ['cancel', unknown],
    ['eval', '--resume', unknown],
  ]) {
    const { code, stderr } = await run([...args, '--db', db]);
    expect(stderr).toMatch(/there is no evaluation .* in .*truss\.db/);
    expect(code).toBe(5);
  }
});

test('--debug shows where an error came from', async () => {
  const { run } = workplace();
  expect((await run(['--debug', ...EVAL])).stderr).toMatch(/\n {4}at /);
});

test('keys are made, shown without their private half, and never made anew', async () => {
  const { run, db, files } = workplace();
  const made = await run(['keys', 'init', '--db', db]);
  expect(made.stdout).toMatch(/coordinator +active +local/);
  const listed = await run(['keys', 'list', '--db', db]);
  const again = await run(['keys', 'init', '--db', db]);
  expect(again.stdout).toContain('nothing was changed');
  expect(again.stdout.split('\n').slice(1)).toEqual(listed.stdout.split('\n'));
  expect(`${made.stdout}${listed.stdout}`).not.toContain('PRIVATE');
  expect(files()).toEqual(['truss.db.keys']);
});

test('doctor says what it found, changes nothing, and exits 0 on a fit machine', async () => {
  const { run, files } = workplace();
  const { code, stdout } = await run(['doctor']);
  expect(stdout).toMatch(/ok +example +examples\/repair can run/);
  expect(code).toBe(0);
  expect(files()).toEqual([]);
});

test('--help is there at once, with an example for every command', async () => {
  const { run } = workplace();
  for (const command of [
    [],
    ['eval'],
    ['verify'],
    ['report'],
    ['list'],
    ['ledger'],
    ['cancel'],
    ['lessons', 'list'],
    ['lessons', 'export'],
    ['keys', 'init'],
    ['keys', 'list'],
    ['doctor'],
  ]) {
    const { code, stdout } = await run([...command, '--help']);
    expect(stdout).toMatch(/\nExamples?:\n {2}truss /);
    expect(code).toBe(0);
  }
});

test('--help loads so little that it takes less than four times as long as a Node that does nothing', () => {
  const once = (args: readonly string[]): number => {
    const begun = performance.now();
    spawnSync(process.execPath, args);
    return performance.now() - begun;
  };
  // Taken in turns, and the best of each, so that what else the machine does meets both alike.
  let [help, nothing] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let i = 0; i < 9; i++) {
    help = Math.min(help, once([BIN, '--help']));
    nothing = Math.min(nothing, once(['-e', '0']));
  }
  expect(help / nothing).toBeLessThan(4);
});
