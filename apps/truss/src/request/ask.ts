import { randomBytes, randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { packContract, type PackedContract } from '#lib/archive';
import { type EvalRequested, evaluationOf, requestDigest } from '#lib/evaluation';
import { openRequester } from '#lib/key-store';
import { type EvalRunId, evalRunId, type Signer, toBase64 } from '#lib/ledger';
import {
  checkBudget,
  checkTravels,
  MAX_INLINE_ARCHIVE,
  MAX_TOML,
  type OutsideRequest,
  planOfRequest,
  signRequest,
} from '#lib/requests';
import { type ReadDatabase, requestOf } from '../database.js';
import type { EvalFlags } from '../evaluate/settings.js';
import { attachmentOf, proofBytes, readLessonsOf } from '../evaluate/starting-lessons.js';
import { usageError } from '../exit-codes.js';
import { whole } from '../format.js';

export interface AskFlags extends EvalFlags {
  readonly contract: string;
  readonly lessons?: string;
  /** File of a requester's private key. */
  readonly key?: string;
  /** Who asks; absent: the operator of the key. */
  readonly requester?: string;
  readonly audience: string;
  /** Asks by id and digest, though there is a key. */
  readonly registered?: boolean;
  /** URL of an archive that is too large for a request. */
  readonly archive?: string;
}

/** What is asked for, and how its evaluation is recognised. */
export interface Asked {
  readonly evaluation: EvalRunId;
  readonly request: OutsideRequest;
  /** Of the request as intake resolves it: its evaluation says the same, or it is another's. */
  readonly digest: string;
}

/** A signature is good for so long: a request that waited longer is asked for again. */
const VALID_MS = 3_600_000;
const CONCURRENCY = 16;

/**
 * Makes the request of `truss request`: checked as intake will check it, and signed where there is a key.
 * @throws CliError, ContractError, RequestError, KeyStoreError, LessonError
 */
export async function askFor(flags: AskFlags, cluster: ReadDatabase, now: number): Promise<Asked> {
  const packed = await packContract(flags.contract);
  checkTravels(packed.contract);
  const signer = flags.key === undefined ? null : openRequester(flags.key);
  const requester = flags.requester ?? operatorOf(signer, cluster);
  const request_id = flags.requestId ?? randomBytes(16).toString('hex');
  const earlier = flags.requestId === undefined ? null : await requestOf(cluster, evalRunId(requester, request_id));
  const planned = planOfRequest(packed, { ...flags, maxCostNanoUsd: flags.maxCostUsd });
  await checkBudget(packed.contract, planned.max_cost_nano_usd, now);
  const proofs = flags.lessons === undefined ? [] : await readLessonsOf(flags.lessons, cluster.keys, packed.contract);
  const resolved: EvalRequested = {
    kind: 'eval',
    requester,
    request_id,
    ...planned,
    seed: flags.seed ?? earlier?.seed ?? randomInt(2 ** 48 - 1),
    concurrency: flags.concurrency ?? earlier?.concurrency ?? Math.min(planned.replicates, CONCURRENCY),
    starting_lessons: proofs.map((proof) => ({ lesson: proof.lesson, proof: attachmentOf(proof) })),
    files: [],
  };
  const unsigned = asOutside(resolved, await contractOf(packed, flags, signer));
  // Its intake looks for them as soon as it has the request.
  for (const proof of proofs) await cluster.log.putAttachment(proofBytes(proof));
  const { audience } = flags;
  const request =
    signer === null
      ? { ...unsigned, signature: null }
      : await signRequest(unsigned, signer, { audience, expires: now + VALID_MS });
  return { evaluation: evaluationOf(resolved), request, digest: requestDigest(resolved) };
}

function operatorOf(signer: Signer | null, { trust }: ReadDatabase): string {
  if (signer === null) {
    throw usageError(
      'nothing says who asks: add --key FILE of a requester, or --requester NAME for a registered contract',
    );
  }
  const key = trust.keys.find(({ id }) => id === signer.keyId);
  if (key !== undefined) return key.operator;
  throw usageError(
    `the requester key ${signer.keyId.slice(0, 16)}… is not in the trust store of the deployment: have its public key added there with \`truss keys add\``,
  );
}

async function contractOf(
  packed: PackedContract,
  flags: AskFlags,
  signer: Signer | null,
): Promise<OutsideRequest['contract']> {
  if (signer === null || flags.registered === true) {
    return { kind: 'registered', id: packed.contract.id, digest: packed.digest };
  }
  assertTomlFits(packed);
  if (packed.archive === null) return { kind: 'inline', toml: packed.toml, archive: null };
  const { sha256, bytes } = packed.archive;
  const url = await archiveUrl(packed, flags.archive);
  const inline = url === null ? toBase64(bytes) : null;
  return { kind: 'inline', toml: packed.toml, archive: { sha256, size: bytes.length, bytes: inline, url } };
}

/** @throws CliError */
export function assertTomlFits({ toml }: PackedContract): void {
  if (Buffer.byteLength(toml) <= MAX_TOML) return;
  throw usageError(
    `the contract file has ${whole(Buffer.byteLength(toml))} bytes, and ${whole(MAX_TOML)} can be sent: move its cases into a \`cases_file\``,
  );
}

/**
 * Where an archive is that is too large to be sent: a `file:` URL is written to, behind any other it must be already. `null`: it is sent.
 * @throws CliError
 */
export async function archiveUrl({ archive }: PackedContract, wanted: string | undefined): Promise<string | null> {
  if (archive === null) return null;
  if (wanted === undefined) {
    if (archive.bytes.length <= MAX_INLINE_ARCHIVE) return null;
    throw usageError(
      `the files of the contract make an archive of ${whole(archive.bytes.length)} bytes, and ${whole(MAX_INLINE_ARCHIVE)} can be sent: ` +
        'add --archive URL with a file: URL that the services read too, or an https: URL where you put what `truss contracts pack` writes',
    );
  }
  const url = URL.canParse(wanted) ? new URL(wanted) : null;
  if (url?.protocol === 'file:') await writeFile(fileURLToPath(url), archive.bytes);
  else if (url?.protocol !== 'https:') throw usageError(`--archive ${wanted} is no file: or https: URL`);
  return url.href;
}

function asOutside(resolved: EvalRequested, contract: OutsideRequest['contract']): Omit<OutsideRequest, 'signature'> {
  const { primary, alpha, margin } = resolved.statistics;
  return {
    kind: 'eval',
    requester: resolved.requester,
    request_id: resolved.request_id,
    contract,
    repeats: resolved.repeats,
    replicates: resolved.replicates,
    seed: resolved.seed,
    concurrency: resolved.concurrency,
    lessons: resolved.starting_lessons,
    limits: { max_cost_nano_usd: resolved.max_cost_nano_usd },
    deadline_ms: resolved.deadline_ms,
    statistics: { primary, alpha, margin },
  };
}
