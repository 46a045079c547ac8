import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { type EvalRunId, isEvalRunId, LedgerError, parseCanonicalJson, type SignedEntry } from '#lib/ledger';
import { usageError } from '../exit-codes.js';
import { parseLine } from './lines.js';

export interface Bundle {
  /** The evaluation that the records speak of. */
  readonly evaluation: EvalRunId;
  /** With the line on which each stands, from 1. */
  readonly records: readonly { readonly position: number; readonly record: SignedEntry }[];
  readonly attachments: ReadonlyMap<string, Uint8Array>;
}

/**
 * @param wanted the evaluation to verify; without it the one that the file holds
 * @throws CliError for a file that cannot be read or is no bundle, or that holds several evaluations and none is wanted
 */
export async function readBundle(file: string, wanted?: EvalRunId): Promise<Bundle> {
  const records: { position: number; record: SignedEntry }[] = [];
  const attachments = new Map<string, Uint8Array>();
  const evaluations = new Set<EvalRunId>();
  let number = 0;
  try {
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      number += 1;
      if (text === '') continue;
      const line = parseLine(text, `${file}:${number}`);
      if (line.kind === 'attachment') attachments.set(line.sha256, line.bytes);
      else {
        records.push({ position: number, record: line.record });
        const claimed = claimedEvaluation(line.record);
        if (claimed !== null) evaluations.add(claimed);
      }
    }
  } catch (error) {
    if (error instanceof Error && 'syscall' in error)
      throw usageError(`${file} cannot be read: ${error.message}`, error);
    throw error;
  }
  if (wanted !== undefined) return { evaluation: wanted, records, attachments };
  const [evaluation, ...others] = evaluations;
  if (evaluation === undefined)
    throw usageError(`${file} holds no entry of an evaluation: \`truss export\` makes such a file`);
  if (others.length > 0)
    throw usageError(
      `${file} holds entries of ${others.length + 1} evaluations: say which one, as in \`truss verify ID --bundle FILE\``,
    );
  return { evaluation, records, attachments };
}

// Only to know what to verify: what a record claims is believed when its signature holds.
function claimedEvaluation(record: SignedEntry): EvalRunId | null {
  try {
    const payload = parseCanonicalJson(record.payload) as { eval?: unknown };
    return typeof payload.eval === 'string' && isEvalRunId(payload.eval) ? payload.eval : null;
  } catch (error) {
    if (error instanceof LedgerError) return null;
    throw error;
  }
}
