import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createKeys, openKeyStore, openSigner, readTrustStore, trustFile } from './key-store.js';

function keysFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'truss-keys-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'keys');
}

test('keys made on first use are found again, and only their owner may read them', () => {
  const folder = keysFolder();
  const first = openKeyStore(folder, 'local');
  const again = openKeyStore(folder, 'local');
  expect(again.trust).toEqual(first.trust);
  expect(again.signers.executor.keyId).toBe(first.signers.executor.keyId);
  expect(readdirSync(folder).toSorted()).toEqual(['coordinator.key', 'executor.key', 'projector.key', 'trust.json']);
  expect(statSync(join(folder, 'executor.key')).mode & 0o077).toBe(0);
});

test('private keys without a trust store are never overwritten: they may have signed something', () => {
  const folder = keysFolder();
  createKeys(folder, 'local');
  rmSync(trustFile(folder));
  const before = readFileSync(join(folder, 'coordinator.key'));
  expect(() => createKeys(folder, 'local')).toThrow(
    expect.objectContaining({ name: 'KeyStoreError', code: 'keys_in_the_way' }),
  );
  expect(readFileSync(join(folder, 'coordinator.key'))).toEqual(before);
  expect(existsSync(trustFile(folder))).toBe(false);
});

test('keys that cannot all be made leave none behind', () => {
  const folder = keysFolder();
  mkdirSync(folder);
  writeFileSync(join(folder, 'projector.key'), 'of somebody');
  expect(() => createKeys(folder, 'local')).toThrow(expect.objectContaining({ code: 'keys_in_the_way' }));
  expect(readdirSync(folder)).toEqual(['projector.key']);
  rmSync(join(folder, 'projector.key'));
  mkdirSync(`${trustFile(folder)}.new`);
  expect(() => createKeys(folder, 'local')).toThrow(/EISDIR/);
  expect(readdirSync(folder)).toEqual(['trust.json.new']);
});

test.each([
  [
    'exposed to others',
    'keys_exposed',
    (folder: string) => writeFileSync(join(folder, 'executor.key'), '', { mode: 0o644 }),
  ],
  ['gone', 'keys_missing', () => {}],
] as const)('a private key that is %s is refused as %s', (_what, code, put) => {
  const folder = keysFolder();
  createKeys(folder, 'local');
  rmSync(join(folder, 'executor.key'));
  put(folder);
  expect(() => openKeyStore(folder, 'local')).toThrow(expect.objectContaining({ code }));
});

test('a private key of another trust store, and one that is no key, are refused', () => {
  const [folder, other] = [keysFolder(), keysFolder()];
  createKeys(folder, 'local');
  createKeys(other, 'local');
  const file = join(folder, 'executor.key');
  writeFileSync(file, readFileSync(join(other, 'executor.key')));
  expect(() => openKeyStore(folder, 'local')).toThrow(/not an active key of the trust store that belongs to it/);
  writeFileSync(file, 'nonsense');
  expect(() => openKeyStore(folder, 'local')).toThrow(/not an Ed25519 key/);
});

test('a trust store that is none is refused with its path', () => {
  const folder = keysFolder();
  createKeys(folder, 'local');
  writeFileSync(trustFile(folder), '{"version": 1}');
  expect(() => readTrustStore(trustFile(folder))).toThrow(
    expect.objectContaining({ code: 'trust_broken', message: expect.stringContaining(trustFile(folder)) }),
  );
});

test('a service opens the key of its role alone; its group may read the file, and nobody else', () => {
  const folder = keysFolder();
  const trust = createKeys(folder, 'local');
  const file = join(folder, 'projector.key');
  const both = openKeyStore(folder, 'local').signers.projector.keyId;
  chmodSync(file, 0o440);
  expect(openSigner(file, 'projector', trust)).toMatchObject({ role: 'projector', keyId: both });
  expect(() => openSigner(file, 'coordinator', trust)).toThrow(expect.objectContaining({ code: 'keys_broken' }));
  for (const mode of [0o444, 0o460]) {
    chmodSync(file, mode);
    expect(() => openSigner(file, 'projector', trust)).toThrow(expect.objectContaining({ code: 'keys_exposed' }));
  }
});
