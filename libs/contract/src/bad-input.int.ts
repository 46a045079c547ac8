import { chmod, mkdir, symlink, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Change, contractText, folderWith } from './contract.testkit.js';
import { ContractError } from './errors.js';
import { loadContract } from './load.js';

async function faultOf(file: string): Promise<ContractError> {
  const error = await loadContract(file).then(
    () => null,
    (cause: unknown) => cause,
  );
  if (!(error instanceof ContractError)) throw new Error(`expected a ContractError, got ${String(error)}`);
  return error;
}

type Row = [name: string, change: Change, place: string, code: string, says: string];

const panel = ['[panel]', 'quorum = 1', 'reviewers = [{ name = "a", command = ["x"] }]'];
const match = (line: string): Change => ({ 8: 'kind = "match"', 9: line });
const review = { 8: 'kind = "review"', 9: 'question = "Is it good?"' };
const provider = (...lines: string[]) => ['[providers.main]', 'kind = "openai"', 'model = "m"', ...lines];

const rows: Row[] = [
  [
    'a value without quotes',
    { 1: 'id = pager' },
    '1:6',
    'syntax',
    'TOML syntax error at contract.toml:1:6: invalid value',
  ],
  ['a table opened and not closed', { 10: '[budget' }, '10:8', 'syntax', 'TOML syntax error'],
  ['a key given twice', { 12: '', more: ['max_steps = 5'] }, '12:1', 'syntax', 'redefine'],
  ['__proto__ as a key', { more: ['[cases.__proto__]'] }, '12:2', 'syntax', 'TOML syntax error'],
  [
    'a misspelt key',
    { 11: 'max_step = 4' },
    '11:1',
    'unknown_key',
    'unknown key `max_step` at contract.toml:11:1: did you mean `max_steps`?',
  ],
  ['a misspelt section', { 10: '[budgett]' }, '10:1', 'unknown_key', 'did you mean `budget`?'],
  [
    'a key that resembles none',
    { 11: 'colour = 4' },
    '11:1',
    'unknown_key',
    '[budget] takes `max_cost_usd`, `max_steps`',
  ],
  ['a key of another kind of agent', { 5: 'command = ["a"]\ntools = []' }, '6:1', 'unknown_key', 'unknown key `tools`'],
  [
    'a text where a number belongs',
    { 11: 'max_steps = "4"' },
    '11:13',
    'invalid',
    'wrong value ("4") at contract.toml:11:13: expected a whole number of at least 1',
  ],
  ['a fraction of a step', { 11: 'max_steps = 1.5' }, '11:13', 'invalid', '1.5'],
  ['a step limit of zero', { 11: 'max_steps = 0' }, '11:13', 'invalid', 'at least 1'],
  ['a number that no double holds', { 11: 'max_steps = 9007199254740993' }, '11:13', 'syntax', 'losslessly'],
  ['a negative cost', { 11: 'max_cost_usd = -1' }, '11:16', 'invalid', 'dollars, from 0'],
  ['a cost finer than a nano-dollar', { 11: 'max_cost_usd = 0.0000000001' }, '11:16', 'invalid', 'nine decimals'],
  ['a cost of infinity', { 11: 'max_cost_usd = inf' }, '11:16', 'invalid', 'dollars'],
  ['a time without a unit', { 11: 'timeout = "60"' }, '11:11', 'invalid', '"500ms", "60s", "10m" or "6h"'],
  ['a time of nothing', { 11: 'timeout = "0s"' }, '11:11', 'invalid', 'more than nothing'],
  ['a time longer than a timer holds', { 11: 'timeout = "577h"' }, '11:11', 'invalid', 'at most "576h"'],
  ['a contract id with a space', { 1: 'id = "a b"' }, '1:6', 'invalid', 'letters, digits'],
  ['empty instructions', { 2: 'instructions = " "' }, '2:16', 'invalid', 'a string that is not empty'],
  ['an empty command', { 5: 'command = []' }, '5:11', 'invalid', 'at least 1'],
  ['a command that is one string', { 5: 'command = "node x"' }, '5:11', 'invalid', 'a list of strings'],
  ['an unknown kind', { 4: 'kind = "robot"' }, '4:8', 'invalid', 'one of "command", "fixed", "llm"'],
  [
    'a section that is a value',
    { 10: '', 11: '', 1: 'id = "a"\nbudget = 3' },
    '2:10',
    'invalid',
    'write it as [budget]',
  ],
  ['a list of tables that is one table', { 6: '[criteria]' }, '6:1', 'invalid', 'write it as [[criteria]]'],
  ['no id', { 1: '' }, '1:1', 'missing', 'no `id` in the contract'],
  ['no agent', { 3: '', 4: '', 5: '' }, '1:1', 'missing', 'no agent'],
  ['no budget', { 10: '', 11: '' }, '1:1', 'missing', 'no budget at contract.toml:1:1: add [budget]'],
  ['a budget without a limit', { 11: '' }, '10:1', 'missing', 'set at least one of `max_cost_usd`'],
  ['no criteria', { 6: '', 7: '', 8: '', 9: '' }, '1:1', 'missing', 'no criteria'],
  [
    'an empty list of criteria',
    { 1: 'id = "a"\ncriteria = []', 6: '', 7: '', 8: '', 9: '' },
    '2:12',
    'invalid',
    'no criteria',
  ],
  ['a criterion without an id', { 7: '' }, '6:1', 'missing', 'no `id` in [[criteria]]'],
  [
    'a criterion id twice',
    { more: ['[[criteria]]', 'id = "tests"', 'kind = "match"', 'file = "a"', 'equals = "b"'] },
    '13:6',
    'duplicate',
    'the criterion id `tests` is there twice',
  ],
  [
    'a case id twice',
    { more: ['[[cases]]', 'id = "c"', '[[cases]]', 'id = "c"'] },
    '15:6',
    'duplicate',
    'the case id `c` is there twice',
  ],
  [
    'a reviewer twice',
    {
      more: ['[panel]', 'quorum = 1', 'reviewers = [{ name = "a", command = ["x"] }, { name = "a", command = ["x"] }]'],
    },
    '14:56',
    'duplicate',
    'the reviewer `a`',
  ],
  [
    'a quorum above the reviewers',
    { more: ['[panel]', 'quorum = 2', 'reviewers = [{ name = "a", command = ["x"] }]'] },
    '13:10',
    'invalid',
    'a quorum of 2 from 1 reviewer',
  ],
  ['a quorum of zero', { more: ['[panel]', 'quorum = 0', 'reviewers = []'] }, '13:10', 'invalid', 'at least 1'],
  [
    'a reviewer with nothing to run',
    { more: ['[panel]', 'quorum = 1', 'reviewers = [{ name = "a" }]'] },
    '14:14',
    'invalid',
    'either `command` or `provider`',
  ],
  ['a review without a panel', review, '8:8', 'no_panel', 'the review criterion `tests` has no panel'],
  [
    'the panel gate without a panel',
    { more: ['[learning]', 'gates = ["panel"]'] },
    '13:9',
    'no_panel',
    'gates = ["verdict", "checks"]',
  ],
  [
    'the gates by default without a panel',
    { more: ['[learning]'] },
    '12:1',
    'no_panel',
    'the gate "panel" has no panel',
  ],
  ['no gates at all', { more: ['[learning]', 'gates = []'] }, '13:9', 'invalid', 'at least 1'],
  [
    'an agent of an unknown provider',
    { 4: 'kind = "llm"', 5: 'provider = "mian"', more: provider() },
    '5:12',
    'unknown_provider',
    'unknown provider `mian` at contract.toml:5:12: did you mean `main`?',
  ],
  [
    'a reviewer of an unknown provider',
    { more: ['[panel]', 'quorum = 1', 'reviewers = [{ name = "a", provider = "b" }]'] },
    '14:39',
    'unknown_provider',
    'add [providers.b]',
  ],
  [
    'an extractor of an unknown provider',
    { more: ['[learning]', 'extractor = "llm"', 'provider = "b"', 'gates = ["verdict"]'] },
    '14:12',
    'unknown_provider',
    'unknown provider `b`',
  ],
  [
    'an API key in the file',
    { more: provider('api_key = "sk-123"') },
    '15:1',
    'secret_in_file',
    'name that with `api_key_env`',
  ],
  [
    'a token anywhere in the file',
    { more: ['access_token = "abc"'] },
    '12:1',
    'secret_in_file',
    'a secret (`access_token`)',
  ],
  [
    'a key where its name belongs',
    { more: provider('api_key_env = "sk-live-123"') },
    '15:15',
    'invalid',
    'never the key itself',
  ],
  [
    'a password in an address',
    { more: provider('base_url = "http://u:hunter2@h/v1"') },
    '15:12',
    'invalid',
    'without a user name or password',
  ],
  [
    'an address on a port that fetch refuses',
    { more: provider('base_url = "http://127.0.0.1:6000/v1"') },
    '15:12',
    'invalid',
    'port 6000 cannot be asked at contract.toml:15:12: HTTP clients refuse it: serve on another port',
  ],
  [
    'a compatible provider without address',
    { more: ['[providers.a]', 'kind = "openai-compatible"', 'model = "m"'] },
    '12:1',
    'missing',
    'no `base_url` in [providers.a]',
  ],
  [
    'a recording that is not there',
    { more: ['[providers.a]', 'kind = "replay"', 'model = "m"', 'file = "r.jsonl"'] },
    '15:8',
    'path',
    'there is no recording `r.jsonl` at contract.toml:15:8: check the path, or name the provider to record',
  ],
  [
    'a recording without a name',
    { more: ['[providers.a]', 'kind = "replay"', 'model = "m"'] },
    '12:1',
    'missing',
    'no `file` in [providers.a]',
  ],
  [
    'a recording outside the folder',
    { more: ['[providers.a]', 'kind = "replay"', 'model = "m"', 'file = "../r.jsonl"'] },
    '15:8',
    'path',
    'the recording `../r.jsonl` is elsewhere',
  ],
  [
    'a recording of an unknown provider',
    { more: ['[providers.a]', 'kind = "replay"', 'file = "r.jsonl"', 'record_from = "b"'] },
    '15:15',
    'unknown_provider',
    'unknown provider `b`',
  ],
  [
    'a recording of a recording',
    { more: ['[providers.a]', 'kind = "replay"', 'file = "r.jsonl"', 'record_from = "a"'] },
    '15:15',
    'invalid',
    '`a` is a recording itself',
  ],
  ['a recording of a provider that is called', { more: provider('file = "r.jsonl"') }, '15:1', 'unknown_key', '`file`'],
  [
    'a price with a missing half',
    { more: provider('price = { input_usd_per_mtok = 1 }') },
    '15:9',
    'missing',
    'output_usd_per_mtok',
  ],
  [
    'a match with nothing to match',
    match('file = "a"'),
    '6:1',
    'missing',
    'exactly one of `equals`, `regex` and `json_schema`',
  ],
  [
    'a match with two things to match',
    match('file = "a"\nequals = "b"\nregex = "c"'),
    '6:1',
    'invalid',
    'more than one thing',
  ],
  ['a regex that does not compile', match('file = "a"\nregex = "("'), '10:9', 'invalid', 'bad `regex`'],
  [
    'a JSON schema of an unknown type',
    match('file = "a"\njson_schema = { type = "objct" }'),
    '10:15',
    'invalid',
    'bad `json_schema`',
  ],
  [
    'a JSON schema with an unknown keyword',
    match('file = "a"\njson_schema = { requird = ["a"] }'),
    '10:15',
    'invalid',
    'requird',
  ],
  ['a JSON schema that is not JSON', match('file = "a"\njson_schema = "{"'), '10:15', 'invalid', 'bad `json_schema`'],
  [
    'a match in a file outside the workspace',
    match('file = "../a"\nequals = "b"'),
    '9:8',
    'path',
    'the file `../a` is not in the workspace',
  ],
  [
    'a match in an absolute file',
    match('file = "/etc/passwd"\nequals = "b"'),
    '9:8',
    'path',
    'is not in the workspace',
  ],
  [
    'a case that leads a file outside',
    {
      ...match('file = "{{inputs.f}}"\nequals = "b"'),
      more: ['[[cases]]', 'id = "c"', 'inputs = { f = "a/../../b" }'],
    },
    '9:8',
    'path',
    '(case `c`)',
  ],
  [
    'a pattern outside the workspace',
    { more: ['[workspace]', 'protected = ["test/**", "../x"]'] },
    '13:25',
    'path',
    'the pattern `../x`',
  ],
  [
    'a workspace above the contract',
    { more: ['[workspace]', 'path = "../w"'] },
    '13:8',
    'path',
    "outside the contract's folder",
  ],
  [
    'an absolute workspace',
    { more: ['[workspace]', 'path = "/tmp"'] },
    '13:8',
    'path',
    "outside the contract's folder",
  ],
  ['a missing workspace', { more: ['[workspace]', 'path = "w"'] }, '13:8', 'path', 'there is no workspace `w`'],
  [
    'a workspace that is a file',
    { more: ['[workspace]', 'path = "contract.toml"'] },
    '13:8',
    'path',
    'is not a folder',
  ],
  [
    'a workspace that holds the contract',
    { more: ['[workspace]', 'path = "."'] },
    '13:8',
    'path',
    'contains `contract.toml`',
  ],
  [
    'an input where there are no cases',
    { 2: 'instructions = "{{inputs.bug}}"' },
    '2:16',
    'template',
    'the contract has no cases',
  ],
  [
    'an expected value in the instructions',
    { 2: 'instructions = "{{expected.a}}"', more: ['[[cases]]', 'id = "c"', 'expected = { a = 1 }'] },
    '2:16',
    'template',
    'the agent must not see them',
  ],
  [
    'an expected value in a fixed answer',
    {
      4: 'kind = "fixed"',
      5: 'answer_text = "{{expected.a}}"',
      more: ['[[cases]]', 'id = "c"', 'expected = { a = 1 }'],
    },
    '5:15',
    'template',
    'the agent must not see them',
  ],
  [
    'an input that one case lacks',
    {
      9: 'run = ["node", "{{inputs.file}}"]',
      more: ['[[cases]]', 'id = "c"', 'inputs = { file = "a" }', '[[cases]]', 'id = "d"', 'inputs = { fil = "a" }'],
    },
    '9:16',
    'template',
    'the case `d` has no such value; did you mean {{inputs.fil}}?',
  ],
  ['a misspelt root', { 2: 'instructions = "{{input.a}}"' }, '2:16', 'template', 'did you mean {{inputs.a}}?'],
  [
    'an input without its root',
    { 2: 'instructions = "{{bug}}"', more: ['[[cases]]', 'id = "c"', 'inputs = { bug = "a" }'] },
    '2:16',
    'template',
    'did you mean {{inputs.bug}}?',
  ],
  [
    "an input in the agent's command",
    { 5: 'command = ["node", "{{inputs.a}}"]', more: ['[[cases]]', 'id = "c"', 'inputs = { a = "a" }'] },
    '5:20',
    'template',
    'nothing is filled in here',
  ],
  [
    'a date in a case',
    { more: ['[[cases]]', 'id = "c"', 'inputs = { d = 2020-01-01 }'] },
    '14:16',
    'invalid',
    'write dates as strings',
  ],
  [
    'cases in two places',
    { 1: 'id = "a"\ncases_file = "c.jsonl"', more: ['[[cases]]', 'id = "c"'] },
    '2:14',
    'invalid',
    'keep one of the two',
  ],
  [
    'a missing cases file',
    { 1: 'id = "a"\ncases_file = "c.jsonl"' },
    '2:14',
    'path',
    'there is no cases file `c.jsonl`',
  ],
  [
    'a cases file outside',
    { 1: 'id = "a"\ncases_file = "../c.jsonl"' },
    '2:14',
    'path',
    "is not in the contract's folder",
  ],
  ['an alpha of zero', { more: ['[evaluation]', 'alpha = 0'] }, '13:9', 'invalid', 'above 0 and below 1'],
  ['repeats of zero', { more: ['[evaluation]', 'repeats = 0'] }, '13:11', 'invalid', 'from 1 to 1000000'],
  ['repeats of a billion', { more: ['[evaluation]', 'repeats = 1e9'] }, '13:11', 'invalid', '1e9'],
  [
    'an agent that is given the contract',
    { 5: 'command = ["cat", "contract.toml"]' },
    '5:19',
    'path',
    'would show the agent what it is judged by',
  ],
  [
    'the first of several',
    { 5: 'command = 3', 11: 'max_steps = 0', more: ['[learning]', 'same_case = 3'] },
    '5:11',
    'invalid',
    'a list of strings',
  ],
  [
    'a review question misspelt',
    { ...review, 9: 'question = "{{expected.x}}"', more: [...panel, '[[cases]]', 'id = "c"'] },
    '9:12',
    'template',
    'add it to `expected` of the case',
  ],
];

describe('a contract file is refused with its place and what to do:', () => {
  test.for(rows)('%s', async ([, change, place, code, says]) => {
    const directory = await folderWith({ 'contract.toml': contractText(change) });
    const file = join(directory, 'contract.toml');
    const fault = await faultOf(file);
    expect(`${fault.line}:${fault.column}`, fault.message).toBe(place);
    expect(fault.message.replaceAll(`${directory}/`, '')).toContain(says);
    expect(fault.message).toContain(`${file}:${place}`);
    expect(fault.code).toBe(code);
    expect(fault.message).not.toMatch(/sk-|hunter2|\n/);
  });
});

describe('a file that cannot be read is refused as a whole:', () => {
  test('one that does not exist', async () => {
    const fault = await faultOf('no/such/contract.toml');
    expect(fault.message).toBe('cannot read no/such/contract.toml: there is no such file; check the path');
    expect([fault.code, fault.line, fault.column]).toEqual(['unreadable', null, null]);
  });

  test('a folder', async () => {
    expect((await faultOf(await folderWith({}))).message).toContain('it is a folder');
  });

  test.skipIf(process.getuid?.() === 0)('one without permission', async () => {
    const file = join(await folderWith({ 'c.toml': contractText() }), 'c.toml');
    await chmod(file, 0);
    expect((await faultOf(file)).message).toContain('permission denied');
  });

  test('one that is not UTF-8', async () => {
    const directory = await folderWith({ 'c.toml': Uint8Array.of(0x69, 0x64, 0xff) });
    expect((await faultOf(join(directory, 'c.toml'))).message).toContain('it is not UTF-8 text');
  });

  test('one of more than 4 MiB', async () => {
    const file = join(await folderWith({ 'c.toml': '' }), 'c.toml');
    await truncate(file, 4 * 1024 * 1024 + 1);
    expect((await faultOf(file)).message).toContain('4194305 bytes; at most 4194304 are read');
  });
});

describe('a cases file is refused at its own line:', () => {
  test.for([
    ['bad JSON', '{"id": "a"}\n{"id": "b" 1}', '2:12', 'bad JSON'],
    ['a row that is no object', '{"id": "a"}\n\n[1]', '3:1', 'is not a list of tables'],
    ['an unknown key', '{"id": "a", "input": {}}', '1:1', 'did you mean `inputs`?'],
    ['no id', '{"id": "a"}\n{}', '2:1', 'no `id`'],
    ['an id twice', '{"id": "a"}\n{"id": "a"}', '2:1', 'is there twice'],
    ['a number past 2^53', '{"id": "a", "inputs": {"n": 9007199254740993}}', '1:1', 'must be a string'],
    ['a lone surrogate', '{"id": "a", "inputs": {"n": "\\ud800"}}', '1:1', 'well-formed Unicode'],
    ['__proto__', '{"id": "a", "inputs": {"__proto__": {"x": 1}}}', '1:1', 'a key that cannot be used'],
  ] as const)('%s', async ([, rows, place, says]) => {
    const text = contractText({ 1: 'id = "a"\ncases_file = "data/c.jsonl"' });
    const directory = await folderWith({ 'contract.toml': text, 'data/c.jsonl': rows });
    const fault = await faultOf(join(directory, 'contract.toml'));
    expect(fault.message).toContain(`${join(directory, 'data/c.jsonl')}:${place}: `);
    expect(fault.message).toContain(says);
  });

  test('nothing in it', async () => {
    const text = contractText({ 1: 'id = "a"\ncases_file = "c.jsonl"' });
    const directory = await folderWith({ 'contract.toml': text, 'c.jsonl': '\n' });
    expect((await faultOf(join(directory, 'contract.toml'))).message).toContain('has no cases');
  });
});

describe('a workspace is refused', () => {
  const withWorkspace = { 'contract.toml': contractText({ more: ['[workspace]', 'path = "w"'] }), 'w/a.js': '' };

  test('when it is a link that leads outside', async () => {
    const directory = await folderWith({ 'contract.toml': withWorkspace['contract.toml'] });
    await symlink(await folderWith({}), join(directory, 'w'));
    expect((await faultOf(join(directory, 'contract.toml'))).message).toContain("outside the contract's folder");
  });

  test('when a link in it leads outside', async () => {
    const directory = await folderWith(withWorkspace);
    await symlink('../contract.toml', join(directory, 'w/link'));
    const fault = await faultOf(join(directory, 'contract.toml'));
    expect(fault.message).toContain('contract.toml:13:8: the link `link` leaves the folder');
  });

  test('when it is too large', async () => {
    const directory = await folderWith(withWorkspace);
    await truncate(join(directory, 'w/a.js'), 256 * 1024 * 1024 + 1);
    expect((await faultOf(join(directory, 'contract.toml'))).code).toBe('too_large');
  });

  test('when a recording will be in it', async () => {
    const live = ['[providers.b]', 'kind = "openai"', 'model = "m"'];
    const replay = ['[providers.a]', 'kind = "replay"', 'file = "w/r.jsonl"', 'record_from = "b"'];
    const text = contractText({ more: ['[workspace]', 'path = "w"', ...live, ...replay] });
    const directory = await folderWith({ 'contract.toml': text, 'w/a': '' });
    expect((await faultOf(join(directory, 'contract.toml'))).message).toContain('the workspace `w` contains');
  });

  test('when the cases are in it', async () => {
    const text = contractText({ 1: 'id = "a"\ncases_file = "w/c.jsonl"', more: ['[workspace]', 'path = "w"'] });
    const directory = await folderWith({ 'contract.toml': text, 'w/c.jsonl': '{"id": "a"}' });
    expect((await faultOf(join(directory, 'contract.toml'))).message).toContain('contains `w/c.jsonl`');
  });
});

describe('a program is refused', () => {
  test('when it lies outside the folder of the contract', async () => {
    const directory = await folderWith({
      'agent.mjs': '',
      'c/contract.toml': contractText({ 5: 'command = ["node", "../agent.mjs"]' }),
    });
    const fault = await faultOf(join(directory, 'c/contract.toml'));
    expect(fault.message).toContain('contract.toml:5:20: move it there');
  });

  test('when one name means one file to the agent and another to a criterion', async () => {
    const text = contractText({
      5: 'command = ["node", "x.mjs"]',
      9: 'run = ["node", "x.mjs"]',
      more: ['[workspace]', 'path = "w"'],
    });
    const directory = await folderWith({ 'contract.toml': text, 'x.mjs': '', 'w/x.mjs': '' });
    await mkdir(join(directory, 'w/empty'));
    expect((await faultOf(join(directory, 'contract.toml'))).message).toContain(
      'contract.toml:9:16: rename one of the two',
    );
  });
});
