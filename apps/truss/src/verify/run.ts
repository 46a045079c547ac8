import { type VerificationResult, verifyEvaluation, type VerifyInput } from '#lib/verification';
import type { Context } from '../commands/context.js';
import { evaluationId, notFound, lookInto } from '../database.js';
import { readBundle } from '../bundle/read.js';
import { EXIT, type ExitCode, usageError } from '../exit-codes.js';
import { readTrustStore } from '#lib/key-store';
import { isEvalRunId } from '#lib/ledger';
import { keepHeapSmall } from '../heap.js';
import { createSignaturePool } from '../signature-pool.js';
import { siblingsOf } from './siblings.js';
import { verificationLines } from './lines.js';

export interface VerifyFlags {
  readonly bundle?: string;
  readonly trust?: string;
  readonly json?: boolean;
  readonly expectHead?: string;
}

/** `truss verify`: the same answer for anybody who has the records and trusts the same keys. */
export async function runVerify(
  id: string,
  flags: VerifyFlags,
  { place, terminal: { out } }: Context,
): Promise<ExitCode> {
  return lookInto(place, id, async (database) => {
    const evaluation = evaluationId(id, place);
    const { log, trust } = database;
    const result = await verify({
      evaluation,
      records: () => log.records(evaluation),
      keys: trust,
      attachment: (sha256) => log.attachment(sha256),
      ...(flags.expectHead === undefined ? {} : { expectHead: flags.expectHead }),
    });
    // Records that no trusted key signed are worth telling of; where there is nothing at all, the id is wrong.
    if (result.result === 'not_found' && result.met.foreign === 0 && flags.json !== true) throw notFound(id, place);
    const siblings = await siblingsOf(database, evaluation);
    if (flags.json === true) {
      const { evaluation: eval_run_id, ...rest } = result;
      await out.write(`${JSON.stringify({ eval_run_id, ...rest, sibling_evaluations: siblings }, null, 2)}\n`);
    } else await out.write(`${verificationLines(result, siblings, out.paint).join('\n')}\n`);
    return exitOf(result);
  });
}

/** `truss verify --bundle FILE --trust FILE`: an exported evaluation, checked with nothing but the keys. */
export async function runVerifyBundle(
  id: string | undefined,
  flags: VerifyFlags & { readonly bundle: string },
  { terminal: { out } }: Context,
): Promise<ExitCode> {
  if (flags.trust === undefined) throw usageError('--bundle needs --trust FILE: the trust store whose keys you trust');
  if (id !== undefined && !isEvalRunId(id)) throw usageError(`${id} is no id of an evaluation`);
  const trust = readTrustStore(flags.trust);
  const bundle = await readBundle(flags.bundle, id);
  const result = await verify({
    ...bundle,
    keys: trust,
    attachment: async (sha256) => bundle.attachments.get(sha256) ?? null,
    ...(flags.expectHead === undefined ? {} : { expectHead: flags.expectHead }),
  });
  if (flags.json === true) {
    const { evaluation: eval_run_id, ...rest } = result;
    await out.write(`${JSON.stringify({ eval_run_id, ...rest }, null, 2)}\n`);
  } else await out.write(`${verificationLines(result, [], out.paint).join('\n')}\n`);
  return exitOf(result);
}

/** With the signatures checked on threads, once there are many. */
async function verify(input: VerifyInput): Promise<VerificationResult> {
  keepHeapSmall();
  const pool = createSignaturePool();
  try {
    return await verifyEvaluation({ ...input, verifySignatures: pool.verify });
  } finally {
    await pool.close();
  }
}

function exitOf({ result }: VerificationResult): ExitCode {
  if (result === 'valid') return EXIT.done;
  return result === 'not_found' ? EXIT.notFound : EXIT.notValid;
}
