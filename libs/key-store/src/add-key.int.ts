import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openTrustStore, utf8 } from '#lib/ledger';
import { addKey, openRequester } from './add-key.js';
import { createKeys, openKeyStore, readTrustStore, trustFile } from './key-store.js';

function folderWithKeys(): { folder: string; trust: string; keyFile: string } {
  const folder = mkdtempSync(join(tmpdir(), 'truss-keys-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  createKeys(folder, 'local');
  return { folder, trust: trustFile(folder), keyFile: join(folder, 'requester-ana.key') };
}

test('a requester key is made, and what it signs is trusted', async () => {
  const { folder, trust, keyFile } = folderWithKeys();
  const added = addKey(trust, { role: 'requester', operator: 'ana', keyFile });
  expect(added).toMatchObject({ role: 'requester', operator: 'ana', status: 'active' });
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  const signer = openRequester(keyFile);
  expect(signer.keyId).toBe(added.id);
  const message = utf8('asked');
  const key = openTrustStore(readTrustStore(trust)).get(added.id);
  expect(key?.verify(message, await signer.sign(message))).toBe(true);
  // The services' keys are as they were.
  expect(openKeyStore(folder, 'local').trust.keys).toHaveLength(4);
});

test('a public key is added whose private half stays elsewhere, and no file is made', () => {
  const [mine, theirs] = [folderWithKeys(), folderWithKeys()];
  const { public_key: publicKey, id } = addKey(theirs.trust, {
    role: 'requester',
    operator: 'ben',
    keyFile: theirs.keyFile,
  });
  expect(addKey(mine.trust, { role: 'requester', operator: 'ben', publicKey, keyFile: mine.keyFile }).id).toBe(id);
  expect(() => readFileSync(mine.keyFile)).toThrow(/ENOENT/);
});

test('nothing is overwritten, and no key comes in twice or in two roles', () => {
  const { trust, keyFile } = folderWithKeys();
  writeFileSync(keyFile, 'mine');
  const before = readFileSync(trust, 'utf8');
  expect(() => addKey(trust, { role: 'requester', operator: 'ana', keyFile })).toThrow(/is not overwritten/);
  const publicKey = readTrustStore(trust).keys[0]?.public_key ?? '';
  expect(() => addKey(trust, { role: 'requester', operator: 'ana', publicKey, keyFile })).toThrow(/one key, one role/);
  expect(readFileSync(keyFile, 'utf8')).toBe('mine');
  expect(readFileSync(trust, 'utf8')).toBe(before);
});

test.each(['', 'ab', 'A'.repeat(64), '0'.repeat(64), `01${'0'.repeat(62)}`])('%j is no public key', (publicKey) => {
  const { trust, keyFile } = folderWithKeys();
  expect(() => addKey(trust, { role: 'requester', operator: 'ana', publicKey, keyFile })).toThrow(/public key/);
});
