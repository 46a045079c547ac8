import { writeFile } from 'node:fs/promises';
import { packContract } from '#lib/archive';
import { openRequester } from '#lib/key-store';
import { checkTravels, listRegistrations, registrationKey, requesterKeys, signRegistration } from '#lib/requests';
import type { Context } from '../commands/context.js';
import { withDatabase } from '../database.js';
import { EXIT, type ExitCode, usageError } from '../exit-codes.js';
import { table, whole } from '../format.js';
import { archiveUrl, assertTomlFits } from '../request/ask.js';

export interface RegisterFlags {
  readonly key: string;
  readonly audience: string;
  /** URL of an archive that is too large for the log. */
  readonly archive?: string;
}

type Places = Pick<Context, 'place' | 'terminal'>;

/** `truss contracts register`: from then on the contract may be asked for by its id and digest. */
export async function registerContract(
  file: string,
  flags: RegisterFlags,
  { place, terminal: { out } }: Places,
): Promise<ExitCode> {
  const packed = await packContract(file);
  checkTravels(packed.contract);
  assertTomlFits(packed);
  const url = await archiveUrl(packed, flags.archive);
  const signer = openRequester(flags.key);
  return withDatabase(place, async ({ log, topics, keys }) => {
    requesterKeys(keys).active(signer.keyId);
    const { toml, digest, archive } = packed;
    const { id } = packed.contract;
    const located = archive === null ? null : { sha256: archive.sha256, size: archive.bytes.length, url };
    if (archive !== null && url === null) await log.putAttachment(archive.bytes);
    const registration = { id, digest, toml, archive: located };
    const { audience } = flags;
    await topics.publish(
      'eval.contract',
      registrationKey(registration),
      await signRegistration(registration, signer, { audience, now: Date.now() }),
    );
    await out.write(`${id} is registered, with the digest\n${digest}\n`);
    return EXIT.done;
  });
}

/** `truss contracts list`. */
export async function listContracts(
  { json, audience }: { readonly json?: boolean; readonly audience: string },
  { place, terminal: { out } }: Places,
): Promise<ExitCode> {
  return withDatabase(place, async ({ topics, keys }) => {
    const found = await listRegistrations({ topics, keys: requesterKeys(keys), audience });
    if (json === true) {
      for (const { toml: _toml, ...one } of found) await out.write(`${JSON.stringify(one)}\n`);
      return EXIT.done;
    }
    if (found.length === 0) {
      await out.write(`No contract is registered for ${audience} yet: truss contracts register FILE --key KEY\n`);
      return EXIT.done;
    }
    const rows = found.map(({ id, digest, operator, archive, registeredAt }) => [
      id,
      digest,
      operator,
      archive === null ? '-' : `${whole(archive.size)} bytes`,
      `${new Date(registeredAt).toISOString().slice(0, 16).replace('T', ' ')} UTC`,
    ]);
    const lines = table([['contract', 'digest', 'by', 'files', 'registered'], ...rows], [], (cell, row) =>
      row === 0 ? out.paint('dim', cell) : cell,
    );
    await out.write(`${lines.join('\n')}\n`);
    return EXIT.done;
  });
}

/** `truss contracts pack`: the archive of a contract, to be put where services read it. */
export async function packTo(
  file: string,
  to: string,
  { terminal: { out } }: Pick<Context, 'terminal'>,
): Promise<ExitCode> {
  const { archive, digest } = await packContract(file);
  if (archive === null) throw usageError(`${file} needs no file but itself: there is nothing to pack`);
  try {
    await writeFile(to, archive.bytes);
  } catch (cause) {
    throw usageError(`the archive cannot be written to ${to}: check the path and that you may write there`, cause);
  }
  await out.write(
    `${to} has ${whole(archive.bytes.length)} bytes, SHA-256 ${archive.sha256}, of the contract with the digest\n${digest}\n`,
  );
  return EXIT.done;
}
