import { createPrivateKey } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { canonicalJson, type TrustStore } from '#lib/ledger';
import { KeyStoreError } from './errors.js';

// An Ed25519 private key in PKCS#8 (RFC 8410): this prefix and the 32-byte seed.
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** @param advice what to do where the file is there already */
export function writeNewKey(file: string, pem: string, advice: string): void {
  try {
    writeDurably(file, pem, 'wx', 0o600);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause;
    throw new KeyStoreError(
      'keys_in_the_way',
      `the private key ${file} is there already, and is not overwritten: ${advice}`,
      { cause },
    );
  }
}

function writeDurably(file: string, text: string, flag: 'w' | 'wx', mode: number): void {
  const fd = openSync(file, flag, mode);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Whole or not at all. */
export function writeTrust(file: string, trust: TrustStore): void {
  const draft = `${file}.new`;
  writeDurably(draft, `${JSON.stringify(JSON.parse(canonicalJson(trust)), null, 2)}\n`, 'w', 0o644);
  renameSync(draft, file);
  syncFolder(dirname(file));
}

/** A file's name is on the disk once its folder is. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

export function pemOf(seed: Uint8Array): string {
  const der = Buffer.concat([PKCS8_PREFIX, seed]);
  return `-----BEGIN PRIVATE KEY-----\n${der.toString('base64')}\n-----END PRIVATE KEY-----\n`;
}

export function seedOf(file: string, forbidden: number): Uint8Array {
  let mode: number;
  let pem: Buffer;
  try {
    mode = statSync(file).mode;
    pem = readFileSync(file);
  } catch (cause) {
    throw new KeyStoreError('keys_missing', `the private key ${file} cannot be read`, { cause });
  }
  if (process.platform !== 'win32' && (mode & forbidden) !== 0) {
    throw new KeyStoreError(
      'keys_exposed',
      `others may read the private key ${file}: \`chmod 600\` it, or retire it and make new keys`,
    );
  }
  try {
    const der = createPrivateKey(pem).export({ format: 'der', type: 'pkcs8' });
    if (der.length !== 48 || !der.subarray(0, 16).equals(PKCS8_PREFIX)) throw new Error('not an Ed25519 key');
    return new Uint8Array(der.subarray(16));
  } catch (cause) {
    throw new KeyStoreError('keys_broken', `the private key ${file} is not an Ed25519 key in PKCS#8 PEM`, { cause });
  }
}
