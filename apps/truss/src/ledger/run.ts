import {
  type Entry,
  isChildRunId,
  isEvalRunId,
  type EvalRunId,
  type Joining,
  type LedgerId,
  parseChildRunId,
  refOf,
  toEnvelope,
  utf8Decode,
} from '#lib/ledger';
import type { Context } from '../commands/context.js';
import { notFound, type ReadDatabase, requestOf, lookInto } from '../database.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { plural, table } from '../format.js';
import type { Output } from '../terminal.js';
import { describeEntry } from './describe.js';

/** `truss ledger`: the entries of an evaluation and its runs, verified as they are read. */
export async function runLedger(
  id: string,
  { json }: { json?: boolean },
  { place, terminal }: Context,
): Promise<ExitCode> {
  return lookInto(place, id, async (database) => {
    if (!isEvalRunId(id) && !isChildRunId(id)) throw notFound(id, place);
    const evaluation: EvalRunId = isEvalRunId(id) ? id : parseChildRunId(id).eval;
    const wanted = (entry: Entry) => isEvalRunId(id) || entry.ledger === id;
    const { found, foreign } =
      json === true
        ? await printJson(database, evaluation, wanted, terminal.out)
        : await printText(database, evaluation, wanted, terminal.out);
    if (found === 0 && (isChildRunId(id) || (await requestOf(database, evaluation)) === null))
      throw notFound(id, place);
    if (foreign > 0) {
      await terminal.err.write(
        `${plural(foreign, 'record')} in the log ${foreign === 1 ? 'is no entry' : 'are no entries'}: truss verify ${evaluation} says more\n`,
      );
    }
    return EXIT.done;
  });
}

interface Printed {
  readonly found: number;
  readonly foreign: number;
}
type Wanted = (entry: Entry) => boolean;

async function readEntries(
  { log }: ReadDatabase,
  evaluation: EvalRunId,
  take: (entry: Entry, joining: Joining) => void,
): Promise<number> {
  let foreign = 0;
  const following = await log.follow(evaluation, { entry: take, foreign: () => void foreign++ });
  following.stop();
  return foreign;
}

async function printJson(database: ReadDatabase, evaluation: EvalRunId, wanted: Wanted, out: Output): Promise<Printed> {
  let found = 0;
  let writing = Promise.resolve();
  const foreign = await readEntries(database, evaluation, (entry, joining) => {
    if (!wanted(entry)) return;
    found += 1;
    const line = `${JSON.stringify(jsonEntry(entry, joining))}\n`;
    writing = writing.then(() => out.write(line));
    writing.catch(() => {});
  });
  await writing;
  return { found, foreign };
}

/** The payload as it was signed, with a body that is an attachment beside it. */
function jsonEntry(entry: Entry, joining: Joining): Record<string, unknown> {
  const payload = JSON.parse(utf8Decode(entry.envelope.payload)) as { body: { attachment?: unknown } };
  const attached = payload.body.attachment !== undefined && Object.keys(payload.body).length === 1;
  return {
    ref: refOf(entry),
    joining,
    payload,
    ...(attached ? { body: entry.body } : {}),
    envelope: toEnvelope(entry.envelope),
  };
}

async function printText(database: ReadDatabase, evaluation: EvalRunId, wanted: Wanted, out: Output): Promise<Printed> {
  const ledgers = new Map<LedgerId, string[][]>();
  let found = 0;
  const foreign = await readEntries(database, evaluation, (entry, joining) => {
    if (!wanted(entry)) return;
    found += 1;
    const rows = ledgers.get(entry.ledger) ?? [];
    rows.push([
      String(entry.seq),
      entry.type,
      entry.role,
      `${joining === 'joined' ? '' : `(${joining}) `}${describeEntry(entry)}`.trimEnd(),
    ]);
    ledgers.set(entry.ledger, rows);
  });
  for (const [ledger, rows] of ledgers) {
    const lines = table(rows, ['right'], (cell, _row, column) => (column === 2 ? out.paint('dim', cell) : cell));
    await out.write(`${out.paint('bold', ledger)}\n${lines.map((line) => `  ${line}\n`).join('')}\n`);
  }
  return { found, foreign };
}
