import { open, rename, rm } from 'node:fs/promises';
import { type EvalRunId, type JsonValue, LedgerError, parseCanonicalJson } from '#lib/ledger';
import type { Context } from '../commands/context.js';
import { evaluationId, notFound, type ReadDatabase, lookInto } from '../database.js';
import { EXIT, type ExitCode, usageError } from '../exit-codes.js';
import { attachmentLine, attachmentsIn, entryLine } from './lines.js';

/** `truss export`: every record of an evaluation and every attachment it names. The file appears whole or not at all. */
export async function runExport(
  id: string,
  { output }: { output: string },
  { place, terminal }: Context,
): Promise<ExitCode> {
  const draft = `${output}.part`;
  try {
    const counts = await lookInto(place, id, async (database) => {
      const evaluation = evaluationId(id, place);
      const file = await open(draft, 'w').catch((error: unknown) => {
        throw usageError(
          `${output} cannot be written: ${error instanceof Error ? error.message : String(error)}`,
          error,
        );
      });
      try {
        let [entries, attachments] = [0, 0];
        for await (const [kind, line] of linesOf(database, evaluation)) {
          if (kind === 'entry') entries += 1;
          else attachments += 1;
          await file.write(line);
        }
        if (entries === 0) throw notFound(id, place);
        return { entries, attachments };
      } finally {
        await file.close();
      }
    });
    await rename(draft, output);
    await terminal.err.write(`${output}: ${counts.entries} entries, ${counts.attachments} attachments\n`);
    return EXIT.done;
  } finally {
    await rm(draft, { force: true });
  }
}

async function* linesOf(
  { log }: ReadDatabase,
  evaluation: EvalRunId,
): AsyncGenerator<['entry' | 'attachment', string]> {
  const seen = new Set<string>();
  for await (const { record } of log.records(evaluation)) {
    yield ['entry', entryLine(record)];
    yield* attached(bodyIn(record.payload));
  }

  async function* attached(value: JsonValue): AsyncGenerator<['attachment', string]> {
    for (const sha256 of attachmentsIn(value)) {
      if (seen.has(sha256)) continue;
      seen.add(sha256);
      const bytes = await log.attachment(sha256);
      // What was erased is gone here too, and the verifier says so.
      if (bytes === null) continue;
      yield ['attachment', attachmentLine(bytes)];
      yield* attached(bodyIn(bytes));
    }
  }
}

/** What the bytes say if they are an entry's payload or an attached body; other bytes name nothing. */
function bodyIn(bytes: Uint8Array): JsonValue {
  try {
    return parseCanonicalJson(bytes);
  } catch (error) {
    if (error instanceof LedgerError) return null;
    throw error;
  }
}
