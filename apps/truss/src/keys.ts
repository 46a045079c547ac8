import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { addKey, createKeys, KeyStoreError, readTrustStore, trustFile } from '#lib/key-store';
import type { Role, TrustStore } from '#lib/ledger';
import type { Context } from './commands/context.js';
import { keysFolder, OPERATOR } from './database.js';
import { EXIT, type ExitCode, usageError } from './exit-codes.js';
import { table } from './format.js';
import type { Output } from './terminal.js';

/** `truss keys init`: makes what is not there, and changes nothing that is. */
export async function initKeys({ db, terminal: { out } }: Context): Promise<ExitCode> {
  const folder = keysFolder(db);
  if (existsSync(trustFile(folder))) {
    await out.write(`${folder} has keys already; nothing was changed.\n`);
    return printKeys(readTrustStore(trustFile(folder)), out);
  }
  if ((statSync(db, { throwIfNoEntry: false })?.size ?? 0) > 0) {
    throw usageError(
      `${db} was signed with keys that are gone from ${folder}: put them back. New keys could not go on with it`,
    );
  }
  if (!existsSync(dirname(folder))) throw usageError(`the folder ${dirname(folder)} does not exist: make it first`);
  let trust: TrustStore;
  try {
    trust = createKeys(folder, OPERATOR);
  } catch (cause) {
    if (cause instanceof KeyStoreError) throw cause;
    throw usageError(`no keys can be made in ${folder}: check that you may write there`, cause);
  }
  await out.write(`Keys made in ${folder}. Keep the .key files to yourself; trust.json is what others need.\n`);
  return printKeys(trust, out);
}

/** `truss keys list`. */
export async function listKeys({ json }: { json?: boolean }, { db, terminal: { out } }: Context): Promise<ExitCode> {
  const trust = readTrustStore(trustFile(keysFolder(db)));
  if (json !== true) return printKeys(trust, out);
  await out.write(`${JSON.stringify(trust, null, 2)}\n`);
  return EXIT.done;
}

export interface AddFlags {
  readonly role: Role;
  readonly publicKey?: string;
  readonly trust?: string;
  readonly output?: string;
}

/** `truss keys add`. */
export async function addKeys(
  operator: string,
  { role, publicKey, trust, output }: AddFlags,
  context: Pick<Context, 'db' | 'terminal'>,
): Promise<ExitCode> {
  const file = trust ?? trustFile(keysFolder(context.db));
  const keyFile = output ?? join(dirname(file), `${role}-${operator}.key`);
  const { out } = context.terminal;
  try {
    const added = addKey(file, { role, operator, keyFile, ...(publicKey === undefined ? {} : { publicKey }) });
    const where =
      publicKey === undefined
        ? `Its private key is ${keyFile}: keep it to yourself.`
        : 'Its private key stays where it is.';
    await out.write(`${file} trusts a ${role} key of ${operator}. ${where}\n`);
    return await printKeys({ version: 1, keys: [added] }, out);
  } catch (cause) {
    if (cause instanceof KeyStoreError || !(cause instanceof Error && 'code' in cause)) throw cause;
    throw usageError(
      `the key cannot be written (${String(cause.code)}): check the folders of ${file} and ${keyFile}`,
      cause,
    );
  }
}

async function printKeys({ keys }: TrustStore, out: Output): Promise<ExitCode> {
  const rows = keys.map(({ role, status, operator, id, public_key }) => [role, status, operator, id, public_key]);
  const lines = table([['role', 'status', 'operator', 'key id', 'public key'], ...rows], [], (cell, row) =>
    row === 0 ? out.paint('dim', cell) : cell,
  );
  await out.write(`${lines.join('\n')}\n`);
  return EXIT.done;
}
