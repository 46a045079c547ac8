import { hash } from 'node:crypto';
import { appendFile, chmod, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '#lib/ledger';
import { contractText, folderWith } from './contract.testkit.js';
import { contractDigest, loadContract } from './load.js';
import { resolveArgv } from './programs.js';
import { unsupportedReason } from './supported.js';
import { contractSchema } from './types.js';
import { snapshotWorkspace, workspaceDigest } from './workspace.js';

const documented = `
id = "repair-pager"
title = "Repair the pager"
instructions = """What the agent is asked to do."""

[workspace]
path = "workspace"
protected = ["./test/**"]

[agent]
kind = "llm"
provider = "main"
tools = ["list_files", "read_file", "write_file", "run_command"]
answer = "answer.txt"

[[criteria]]
id = "tests"
kind = "command"
run = ["node", "--test"]
timeout = "60s"

[[criteria]]
id = "label"
kind = "match"
file = "answer.txt"
equals = "spam"

[[criteria]]
id = "readable"
kind = "review"
question = "Is the change minimal and readable?"

[panel]
quorum = 2
reviewers = [ { name = "correctness", provider = "main", instructions = "…" }, { name = "clarity", provider = "main" }, { name = "format", command = ["node", "review.mjs"] } ]

[budget]
max_cost_usd = 0.50
max_steps = 40
max_input_tokens = 200_000
max_output_tokens = 20_000
timeout = "10m"

[providers.main]
kind = "openai-compatible"
base_url = "http://127.0.0.1:8089/v1"
model = "gemma-3-270m"
api_key_env = "OPENAI_API_KEY"
temperature = 0
price = { input_usd_per_mtok = 0.15, output_usd_per_mtok = 0.60 }

[learning]
extractor = "exemplar"
gates = ["panel", "verdict", "checks"]
scope = "repair"
max_recalled = 5
same_case = "exclude"

[evaluation]
max_cost_usd = 20
deadline = "6h"
repeats = 3
replicates = 6
primary = "pass_rate"
alpha = 0.05
margin = 0.1
min_units = 6
`;

const review = 'console.log(1);\n';
const source = 'export const a = 1;\n';
const documentedFiles = {
  'contract.toml': documented,
  'review.mjs': review,
  'workspace/src/a.js': source,
  'workspace/test/a.js': '',
};

describe('a good contract', () => {
  test('as documented resolves to integers, defaults and pinned files', async () => {
    const directory = await folderWith(documentedFiles);
    const loaded = await loadContract(join(directory, 'contract.toml'));
    const rows = [
      ['src/a.js', '100644', hash('sha256', source)],
      ['test/a.js', '100644', hash('sha256', '')],
    ];
    expect(loaded.contract).toEqual({
      id: 'repair-pager',
      title: 'Repair the pager',
      instructions: 'What the agent is asked to do.',
      workspace: {
        digest: hash('sha256', canonicalJson(rows)),
        files: 2,
        bytes: source.length,
        protected: ['test/**'],
      },
      agent: {
        kind: 'llm',
        provider: 'main',
        tools: ['list_files', 'read_file', 'write_file', 'run_command'],
        answer_file: 'answer.txt',
      },
      criteria: [
        { id: 'tests', kind: 'command', run: ['node', '--test'], timeout_ms: 60_000 },
        { id: 'label', kind: 'match', file: 'answer.txt', equals: 'spam' },
        { id: 'readable', kind: 'review', question: 'Is the change minimal and readable?' },
      ],
      panel: {
        quorum: 2,
        reviewers: [
          { name: 'correctness', provider: 'main', instructions: '…' },
          { name: 'clarity', provider: 'main', instructions: null },
          { name: 'format', command: ['node', 'review.mjs'], instructions: null },
        ],
      },
      budget: {
        max_cost_nano_usd: 500_000_000,
        max_steps: 40,
        max_input_tokens: 200_000,
        max_output_tokens: 20_000,
        timeout_ms: 600_000,
      },
      providers: {
        main: {
          kind: 'openai-compatible',
          base_url: 'http://127.0.0.1:8089/v1',
          model: 'gemma-3-270m',
          api_key_env: 'OPENAI_API_KEY',
          temperature: 0,
          file: null,
          record_from: null,
          price: { input_nano_usd_per_mtok: 150_000_000, output_nano_usd_per_mtok: 600_000_000 },
        },
      },
      learning: {
        extractor: 'exemplar',
        provider: null,
        gates: ['verdict', 'checks', 'panel'],
        scope: 'repair',
        max_recalled: 5,
        same_case: 'exclude',
      },
      cases: [],
      evaluation: {
        max_cost_nano_usd: 20_000_000_000,
        deadline_ms: 21_600_000,
        repeats: 3,
        replicates: 6,
        primary: 'pass_rate',
        alpha: 0.05,
        margin: 0.1,
        min_units: 6,
      },
      programs: [{ path: 'review.mjs', sha256: hash('sha256', review), bytes: review.length }],
    });
    expect(loaded.digest).toBe(hash('sha256', canonicalJson(loaded.contract)));
    expect(loaded.directory).toBe(directory);
    expect(loaded.workspaceDir).toBe(join(directory, 'workspace'));
    expect(unsupportedReason(loaded.contract)).toBeNull();
  });

  test('of the fewest lines gets the defaults', async () => {
    const directory = await folderWith({ 'contract.toml': contractText() });
    const { contract, workspaceDir } = await loadContract(join(directory, 'contract.toml'));
    expect(contract).toMatchObject({
      title: 'pager',
      learning: null,
      panel: null,
      providers: {},
      cases: [],
      programs: [],
    });
    expect(contract.workspace).toEqual({ digest: null, files: 0, bytes: 0, protected: [] });
    expect(contract.budget).toEqual({
      max_cost_nano_usd: null,
      max_steps: 4,
      max_input_tokens: null,
      max_output_tokens: null,
      timeout_ms: null,
    });
    expect(contract.evaluation).toEqual({
      max_cost_nano_usd: null,
      deadline_ms: 86_400_000,
      repeats: null,
      replicates: 1,
      primary: 'pass_rate',
      alpha: 0.05,
      margin: 0.1,
      min_units: 6,
    });
    expect(workspaceDir).toBeNull();
    expect(unsupportedReason(contract)).toBeNull();
  });

  test('read back from its JSON is the same contract', async () => {
    const directory = await folderWith(documentedFiles);
    const { contract, digest } = await loadContract(join(directory, 'contract.toml'));
    const back = contractSchema.parse(JSON.parse(JSON.stringify(contract)));
    expect(back).toEqual(contract);
    expect(contractDigest(back)).toBe(digest);
  });

  test('takes cases from the file and from JSONL alike', async () => {
    const inline = [
      '[[cases]]',
      'id = "a/1"',
      'family = "f"',
      'inputs = { subject = "x", n = [1, 2.5] }',
      '[cases.expected]',
      'label = "spam"',
    ];
    const row = '{"id":"a/1","family":"f","inputs":{"subject":"x","n":[1,2.5]},"expected":{"label":"spam"}}\r\n\r\n';
    const one = await folderWith({ 'contract.toml': contractText({ more: inline }) });
    const two = await folderWith({
      'contract.toml': contractText({ 1: 'id = "pager"\ncases_file = "c.jsonl"' }),
      'c.jsonl': row,
    });
    const loaded = await loadContract(join(one, 'contract.toml'));
    expect(loaded.contract.cases).toEqual([
      { id: 'a/1', family: 'f', inputs: { subject: 'x', n: [1, 2.5] }, expected: { label: 'spam' } },
    ]);
    expect((await loadContract(join(two, 'contract.toml'))).digest).toBe(loaded.digest);
  });
});

describe('the digest', () => {
  const digestOf = async (directory: string) => (await loadContract(join(directory, 'contract.toml'))).digest;

  test('does not change with white space, comments or the order of keys', async () => {
    const one = await folderWith({ 'contract.toml': contractText() });
    const two = await folderWith({
      'contract.toml': contractText({ 1: '# a comment\nid  =  "pager"\n', 7: 'kind = "command"', 8: 'id = "tests"' }),
    });
    expect(await digestOf(two)).toBe(await digestOf(one));
  });

  test.for([
    ['a byte of a program', (d: string) => appendFile(join(d, 'review.mjs'), ' ')],
    ['a byte of a workspace file', (d: string) => appendFile(join(d, 'workspace/src/a.js'), ' ')],
    ['a file more in the workspace', (d: string) => writeFile(join(d, 'workspace/.b'), '')],
    ['an executable bit in the workspace', (d: string) => chmod(join(d, 'workspace/src/a.js'), 0o755)],
    ['a word of the contract', (d: string) => appendFile(join(d, 'contract.toml'), '[[cases]]\nid = "c"\n')],
  ] as const)('changes with %s', async ([, change]) => {
    const directory = await folderWith(documentedFiles);
    const before = await digestOf(directory);
    await change(directory);
    expect(await digestOf(directory)).not.toBe(before);
  });
});

describe('programs beside the contract', () => {
  test('become absolute where a command names them, and all other words stay', async () => {
    const text = contractText({ 5: 'command = ["node", "./tools/agent.mjs", "--flag", "absent.mjs"]' });
    const directory = await folderWith({ 'contract.toml': text, 'tools/agent.mjs': 'x' });
    const { contract } = await loadContract(join(directory, 'contract.toml'));
    expect(contract.programs.map(({ path }) => path)).toEqual(['tools/agent.mjs']);
    expect(resolveArgv(['node', './tools/agent.mjs', '--flag', 'absent.mjs'], directory, contract)).toEqual([
      'node',
      join(directory, 'tools/agent.mjs'),
      '--flag',
      'absent.mjs',
    ]);
  });

  test('yield to a file of the workspace where a criterion names it', async () => {
    const text = contractText({ 9: 'run = ["node", "check.mjs", "judge.mjs"]', more: ['[workspace]', 'path = "w"'] });
    const directory = await folderWith({
      'contract.toml': text,
      'check.mjs': '1',
      'judge.mjs': '2',
      'w/check.mjs': '3',
    });
    const { contract } = await loadContract(join(directory, 'contract.toml'));
    expect(contract.programs.map(({ path }) => path)).toEqual(['judge.mjs']);
  });

  test('are found under the names that the cases fill in', async () => {
    const cases = ['a', 'b'].flatMap((id) => ['[[cases]]', `id = "${id}"`, `expected = { judge = "${id}.mjs" }`]);
    const text = contractText({ 9: 'run = ["node", "{{expected.judge}}"]', more: cases });
    const directory = await folderWith({ 'contract.toml': text, 'a.mjs': '1', 'b.mjs': '2' });
    const { contract } = await loadContract(join(directory, 'contract.toml'));
    expect(contract.programs.map(({ path }) => path)).toEqual(['a.mjs', 'b.mjs']);
  });
});

describe('a recording', () => {
  const live = ['[providers.live]', 'kind = "openai-compatible"', 'base_url = "http://h/v1"', 'model = "m"'];
  const replay = (...lines: string[]) => ['[providers.main]', 'kind = "replay"', 'file = "calls.jsonl"', ...lines];

  test('that is played is pinned by its bytes', async () => {
    const text = contractText({ more: replay('model = "m"') });
    const directory = await folderWith({ 'contract.toml': text, 'calls.jsonl': '{}\n' });
    const { contract } = await loadContract(join(directory, 'contract.toml'));
    expect(contract.programs).toEqual([{ path: 'calls.jsonl', sha256: hash('sha256', '{}\n'), bytes: 3 }]);
    expect(contract.providers['main']).toEqual({
      kind: 'replay',
      base_url: null,
      model: 'm',
      api_key_env: null,
      temperature: null,
      file: 'calls.jsonl',
      record_from: null,
      price: null,
    });
  });

  test('that grows is not pinned, need not be there, and asks as the recorded provider is asked', async () => {
    const asked = ['temperature = 0', 'price = { input_usd_per_mtok = 1, output_usd_per_mtok = 2 }'];
    const text = contractText({ more: [...live, ...asked, ...replay('record_from = "live"')] });
    const directory = await folderWith({ 'contract.toml': text });
    const { contract } = await loadContract(join(directory, 'contract.toml'));
    expect(contract.programs).toEqual([]);
    expect(contract.providers['main']).toMatchObject({
      model: 'm',
      temperature: 0,
      file: 'calls.jsonl',
      record_from: 'live',
      price: { input_nano_usd_per_mtok: 1e9, output_nano_usd_per_mtok: 2e9 },
    });
  });
});

describe('a snapshot of a workspace', () => {
  test('lists files, modes and links in the order of paths', async () => {
    const directory = await folderWith({ 'b.txt': 'b', 'a/z.sh': 'z', '.hidden': '' });
    await chmod(join(directory, 'a/z.sh'), 0o755);
    await symlink('../b.txt', join(directory, 'a/link'));
    const files = await snapshotWorkspace(directory);
    expect(files.map(({ path, mode, bytes }) => [path, mode, bytes])).toEqual([
      ['.hidden', '100644', 0],
      ['a/link', '120000', 8],
      ['a/z.sh', '100755', 1],
      ['b.txt', '100644', 1],
    ]);
    expect(files[1]?.sha256).toBe(hash('sha256', '../b.txt'));
    expect(workspaceDigest(files)).toMatch(/^[0-9a-f]{64}$/);
  });

  test.for([
    ['an absolute link', '/etc/passwd', 'link_leaves'],
    ['a link upwards', '../..', 'link_leaves'],
    ['a link out through another link', 'deep/../../x', 'link_leaves'],
  ] as const)('refuses %s', async ([, target, code]) => {
    const directory = await folderWith({ 'd/e/f': '' });
    await symlink('d/e', join(directory, 'deep'));
    await symlink(target, join(directory, 'link'));
    await expect(snapshotWorkspace(directory)).rejects.toMatchObject({ code, path: 'link' });
  });

  test('stops at its limits', async () => {
    const directory = await folderWith({ a: '12', b: '34' });
    await expect(snapshotWorkspace(directory, { maxFiles: 1, maxBytes: 9 })).rejects.toMatchObject({
      code: 'too_many_files',
    });
    await expect(snapshotWorkspace(directory, { maxFiles: 9, maxBytes: 3 })).rejects.toMatchObject({
      code: 'too_large',
    });
    expect(await snapshotWorkspace(directory, { maxFiles: 2, maxBytes: 4 })).toHaveLength(2);
  });
});
