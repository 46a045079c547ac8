import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { trustStoreSchema } from '#lib/ledger';
import { truss, withEnv } from '../in-process.testkit.js';
import { CONSTANT, PROGRAM } from './cluster.testkit.js';

function folderOf(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'truss-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

test.each([
  [['request', '--contract', 'c.toml']],
  [['contracts', 'list']],
  [['contracts', 'register', 'c.toml', '--key', 'k']],
  [['dead-letter', 'list']],
  [['dead-letter', 'show', '0/1']],
  [['dead-letter', 'retry', '0/1']],
])('truss %j without a cluster says what it needs', async (args) => {
  withEnv({ TRUSS_BROKERS: undefined, TRUSS_REGISTRY: undefined, TRUSS_REDIS: undefined });
  const { code, stdout, stderr } = await truss(...args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(
    new RegExp(`truss ${args.slice(0, args[0] === 'request' ? 1 : 2).join(' ')} works on a cluster: add --brokers`),
  );
});

test.each([
  [['request'], /--contract/],
  [['contracts', 'register', 'c.toml'], /--key/],
  [['dead-letter', 'list', '--last', '0'], /whole number from 1/],
  [['keys', 'add', '../evil'], /letters, digits/],
  [['keys', 'add', 'ana', '--role', 'king'], /Allowed choices|requester/],
])('truss %j is refused with what is expected', async (args, expected) => {
  const { code, stderr } = await truss(...args);
  expect(code).toBe(2);
  expect(stderr).toMatch(expected);
});

describe('truss keys add', () => {
  test('makes the key of a requester beside the trust store of a database', async () => {
    const db = join(folderOf(), 'truss.db');
    await truss('keys', 'init', '--db', db);
    const added = await truss('keys', 'add', 'ana', '--db', db);
    expect([added.code, added.stderr]).toEqual([0, '']);
    expect(added.stdout).toMatch(/trusts a requester key of ana.*requester-ana\.key: keep it to yourself/);
    expect(statSync(join(`${db}.keys`, 'requester-ana.key')).mode & 0o777).toBe(0o600);
    const again = await truss('keys', 'add', 'ana', '--db', db);
    expect(again).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('is not overwritten: give another name'),
    });
    expect((await truss('keys', 'list', '--db', db)).stdout).toMatch(/requester +active +ana/);
  });

  test('takes a public key into any trust store', async () => {
    const [one, two] = [folderOf(), folderOf()];
    for (const folder of [one, two]) await truss('keys', 'init', '--db', join(folder, 'truss.db'));
    const trust = (folder: string) => join(folder, 'truss.db.keys', 'trust.json');
    await truss('keys', 'add', 'ben', '--trust', trust(one), '-o', join(one, 'ben.key'));
    const hex = trustStoreSchema.parse(JSON.parse(readFileSync(trust(one), 'utf8'))).keys.at(-1)?.public_key ?? '';
    const added = await truss('keys', 'add', 'ben', '--trust', trust(two), '--public-key', hex);
    expect([added.code, added.stdout]).toEqual([0, expect.stringContaining('private key stays where it is')]);
    expect(trustStoreSchema.parse(JSON.parse(readFileSync(trust(two), 'utf8'))).keys).toHaveLength(4);
  });

  test('without a trust store says how to make one', async () => {
    const added = await truss('keys', 'add', 'ana', '--trust', join(folderOf(), 'trust.json'));
    expect(added).toMatchObject({ code: 2, stderr: expect.stringContaining('truss keys init') });
  });
});

describe('truss contracts pack', () => {
  test('writes the archive of a contract, and none where there is nothing to pack', async () => {
    const folder = folderOf({
      'contract.toml': PROGRAM['contract.toml'].replace('[workspace]\npath = "work"\n', ''),
      'agent.mjs': PROGRAM['agent.mjs'],
      'constant.toml': CONSTANT['contract.toml'],
    });
    const to = join(folder, 'c.tar.gz');
    const packed = await truss('contracts', 'pack', join(folder, 'contract.toml'), '-o', to);
    expect([packed.code, packed.stderr]).toEqual([0, '']);
    expect(packed.stdout).toContain(`${to} has ${statSync(to).size} bytes`);
    const nothing = await truss('contracts', 'pack', join(folder, 'constant.toml'), '-o', to);
    expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining('needs no file but itself') });
  });
});
