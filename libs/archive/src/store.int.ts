import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { JsonValue } from '#lib/ledger';
import { CONTRACT, emptyFolder, folderOf, sha256, tarOf } from './archive.testkit.js';
import { readContract } from './contract.js';
import { packContract, type PackedContract } from './pack.js';
import { createContractStore } from './store.js';

async function packed(files: Readonly<Record<string, string>> = CONTRACT): Promise<PackedContract> {
  const folder = await folderOf(files);
  await symlink('notes/read me.md', join(folder, 'work', 'link'));
  return packContract(join(folder, 'contract.toml'));
}

/** The attachments of a log. */
class Attachments {
  readonly bytes = new Map<string, Uint8Array>();
  asked = 0;

  hints({ toml, archive }: Pick<PackedContract, 'toml' | 'archive'>): JsonValue {
    const text = this.#put(new TextEncoder().encode(toml));
    return [{ toml: text, archive: archive === null ? null : { ...this.#put(archive.bytes), url: null } }];
  }

  #put(bytes: Uint8Array): { sha256: string; size: number } {
    this.bytes.set(sha256(bytes), bytes);
    return { sha256: sha256(bytes), size: bytes.length };
  }

  get sources() {
    const attachment = async (sha: string) => {
      this.asked += 1;
      return this.bytes.get(sha) ?? null;
    };
    return { attachment, allowed: [] };
  }
}

test('the same files make the same archive, wherever and whenever they lie, and nothing else comes with them', async () => {
  const [one, two] = [await packed(), await folderOf(CONTRACT)];
  await symlink('notes/read me.md', join(two, 'work', 'link'));
  await utimes(join(two, 'agent.mjs'), 1, 1);
  const other = await packContract(join(two, 'contract.toml'));
  expect(other.archive?.sha256).toBe(one.archive?.sha256);
  expect(other.digest).toBe(one.digest);
  const read = await readContract(one.toml, one.archive?.bytes ?? null);
  expect(read).toEqual({ contract: one.contract, digest: one.digest });
  expect((await readdir(tmpdir())).filter((name) => name.startsWith('truss-contract-'))).toEqual([]);
});

test('a program that is started by its own name still can be', async () => {
  const toml = CONTRACT['contract.toml'].replace('"node", "agent.mjs"', '"./agent.sh"');
  const folder = await folderOf({
    ...CONTRACT,
    'contract.toml': toml,
    'agent.sh': '#!/bin/sh\necho yes > answer.txt\n',
  });
  await chmod(join(folder, 'agent.sh'), 0o700);
  const contract = await packContract(join(folder, 'contract.toml'));
  const log = new Attachments();
  const store = createContractStore({ cacheDir: await emptyFolder(), sources: log.sources });
  await store.fetch(contract.digest, log.hints(contract));
  const { directory = '' } = store.locate(contract.digest) ?? {};
  expect((await stat(join(directory, 'agent.sh'))).mode & 0o111).toBe(0o111);
});

test('a contract that needs no file but itself has no archive', async () => {
  const toml = CONTRACT['contract.toml']
    .replace('[workspace]\npath = "work"\n', '')
    .replace('cases_file = "cases.jsonl"\n', '');
  const folder = await folderOf({
    'contract.toml': toml.replace('{{inputs.what}}', 'it').replace('"node", "agent.mjs"', '"true"'),
  });
  const found = await packContract(join(folder, 'contract.toml'));
  expect(found.archive).toBeNull();
  expect((await readContract(found.toml, null)).digest).toBe(found.digest);
});

test('the files of a contract are brought once, for all runs and all processes of a machine', async () => {
  const contract = await packed();
  const log = new Attachments();
  const hints = log.hints(contract);
  const cacheDir = join(await emptyFolder(), 'cache');
  const stores = [1, 2, 3].map(() => createContractStore({ cacheDir, sources: log.sources }));
  await Promise.all(stores.flatMap((store) => [1, 2, 3].map(() => store.fetch(contract.digest, hints))));
  for (const store of stores) {
    const files = store.locate(contract.digest);
    expect(await readFile(join(files?.directory ?? '', 'agent.mjs'), 'utf8')).toBe(CONTRACT['agent.mjs']);
    expect(await readFile(join(files?.workspace ?? '', 'link'), 'utf8')).toBe('Hello.\n');
    expect(store.whyNot(contract.digest)).toBeNull();
  }
  expect(log.asked).toBeLessThanOrEqual(6);
  expect(await readdir(cacheDir)).toEqual([contract.digest]);
  const later = createContractStore({ cacheDir, sources: new Attachments().sources });
  await later.fetch(contract.digest, null);
  expect(later.locate(contract.digest)).not.toBeNull();
});

test('files that something cleared away are brought again', async () => {
  const contract = await packed();
  const log = new Attachments();
  const hints = log.hints(contract);
  const cacheDir = await emptyFolder();
  const store = createContractStore({ cacheDir, sources: log.sources, recheckMs: 0 });
  await store.fetch(contract.digest, hints);
  await rm(join(cacheDir, contract.digest, 'agent.mjs'));
  await store.fetch(contract.digest, hints);
  expect(await readFile(join(store.locate(contract.digest)?.directory ?? '', 'agent.mjs'), 'utf8')).toBe(
    CONTRACT['agent.mjs'],
  );
});

test('a cache that something wrote into is made anew', async () => {
  const contract = await packed();
  const log = new Attachments();
  const hints = log.hints(contract);
  const cacheDir = await emptyFolder();
  await createContractStore({ cacheDir, sources: log.sources }).fetch(contract.digest, hints);
  await writeFile(join(cacheDir, contract.digest, 'work', 'empty.txt'), 'spoilt');
  const store = createContractStore({ cacheDir, sources: log.sources });
  await store.fetch(contract.digest, hints);
  expect(await readFile(join(store.locate(contract.digest)?.workspace ?? '', 'empty.txt'), 'utf8')).toBe('');
});

test('a contract that needs no files is asked nothing of, and nobody is told', async () => {
  const log = new Attachments();
  const cacheDir = join(await emptyFolder(), 'cache');
  const failed = (digest: string) => expect.fail(digest);
  const store = createContractStore({ cacheDir, sources: log.sources, failed });
  await store.fetch('a'.repeat(64), []);
  expect([store.locate('a'.repeat(64)), store.whyNot('a'.repeat(64)), log.asked]).toEqual([null, null, 0]);
});

test('an archive of another contract is not taken for the one that the plan pins, and the reason is said', async () => {
  const contract = await packed();
  const other = await packed({ ...CONTRACT, 'agent.mjs': 'process.exit(1);\n' });
  const log = new Attachments();
  const told: unknown[] = [];
  const cacheDir = await emptyFolder();
  const store = createContractStore({ cacheDir, sources: log.sources, failed: (digest) => told.push(digest) });
  await store.fetch(contract.digest, log.hints({ ...contract, archive: other.archive }));
  expect(store.locate(contract.digest)).toBeNull();
  expect(store.whyNot(contract.digest)).toMatch(/another contract than the one that the plan pins/);
  expect(told).toEqual([contract.digest]);
  expect(await readdir(cacheDir)).toEqual([]);
});

test.each<[string, (log: Attachments, contract: PackedContract) => Promise<JsonValue>, RegExp]>([
  ['hints that are none', async () => ({ rm: '-rf' }), /nothing says where/],
  [
    'an archive that is not there',
    async (log, contract) => {
      const hints = log.hints(contract);
      log.bytes.delete(contract.archive?.sha256 ?? '');
      return hints;
    },
    /not in the log/,
  ],
  [
    'an archive that is hostile',
    async (log, contract) => {
      const bytes = await tarOf({ name: '../out', content: 'x' });
      return log.hints({ ...contract, archive: { sha256: sha256(bytes), bytes } });
    },
    /leaves it/,
  ],
  [
    'an archive without the workspace',
    async (log, contract) => {
      const bytes = await tarOf({ name: 'agent.mjs', content: CONTRACT['agent.mjs'] });
      return log.hints({ ...contract, archive: { sha256: sha256(bytes), bytes } });
    },
    /do not load here/,
  ],
  [
    'an archive with a contract of its own',
    async (log, contract) => {
      const bytes = await tarOf({ name: 'truss-contract.toml', content: 'id = "evil"' });
      return log.hints({ ...contract, archive: { sha256: sha256(bytes), bytes } });
    },
    /leave it out/,
  ],
])('%s: the files are not here, and nothing is left or thrown', async (_what, make, reason) => {
  const contract = await packed();
  const log = new Attachments();
  const cacheDir = await emptyFolder();
  const store = createContractStore({ cacheDir, sources: log.sources });
  await store.fetch(contract.digest, await make(log, contract));
  expect(store.locate(contract.digest)).toBeNull();
  expect(store.whyNot(contract.digest)).toMatch(reason);
  expect(await readdir(cacheDir)).toEqual([]);
});

test('where the log does not answer the run has its reason, and the next one asks again', async () => {
  const contract = await packed();
  const log = new Attachments();
  const hints = log.hints(contract);
  const cacheDir = await mkdtemp(join(tmpdir(), 'truss-archive-'));
  onTestFinished(() => rm(cacheDir, { recursive: true, force: true }));
  let broken = true;
  const attachment = (sha: string) =>
    broken ? Promise.reject(new Error('the broker is away')) : log.sources.attachment(sha);
  const store = createContractStore({ cacheDir, sources: { attachment, allowed: [] }, rememberMs: 0 });
  await store.fetch(contract.digest, hints);
  expect(store.whyNot(contract.digest)).toMatch(/the broker is away/);
  broken = false;
  await store.fetch(contract.digest, hints);
  expect(store.locate(contract.digest)).not.toBeNull();
});

test.runIf(process.getuid?.() === 0)('a cache that another user made is not used', async () => {
  const contract = await packed();
  const log = new Attachments();
  const cacheDir = await emptyFolder();
  await chown(cacheDir, 65_534, 65_534);
  const store = createContractStore({ cacheDir, sources: log.sources });
  await store.fetch(contract.digest, log.hints(contract));
  expect(store.locate(contract.digest)).toBeNull();
  expect(store.whyNot(contract.digest)).toMatch(/belongs to another user/);
});

test('hints that lead nowhere do not keep the files from who has better ones', async () => {
  const contract = await packed();
  const log = new Attachments();
  const hints = log.hints(contract);
  const cacheDir = await mkdtemp(join(tmpdir(), 'truss-archive-'));
  onTestFinished(() => rm(cacheDir, { recursive: true, force: true }));
  const store = createContractStore({ cacheDir, sources: log.sources });
  const forged = [{ toml: { sha256: '0'.repeat(64), size: 1 }, archive: null }];
  await Promise.all([store.fetch(contract.digest, forged), store.fetch(contract.digest, hints)]);
  expect(store.locate(contract.digest)).not.toBeNull();
  const asked = log.asked;
  const other = createContractStore({ cacheDir: join(cacheDir, 'other'), sources: log.sources });
  await Promise.all(Array.from({ length: 5 }, () => other.fetch(contract.digest, forged)));
  expect(other.whyNot(contract.digest)).not.toBeNull();
  expect(log.asked).toBe(asked + 1);
});
