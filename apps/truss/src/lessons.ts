import { rename, rm, writeFile } from 'node:fs/promises';
import type { EvalRunId, Lesson, LedgerRef } from '#lib/ledger';
import {
  formatBundle,
  type HeldLesson,
  type LessonCount,
  LessonCounters,
  type LessonProof,
  ProofKeeper,
} from '#lib/lessons';
import type { Context } from './commands/context.js';
import { evaluationId, notFound, type ReadDatabase, requestOf, lookInto } from './database.js';
import { EXIT, type ExitCode, usageError } from './exit-codes.js';
import { oneLine, plural, table } from './format.js';

interface Learned {
  readonly ref: LedgerRef;
  readonly lesson: Lesson;
  readonly count: LessonCount;
  readonly proof: LessonProof | undefined;
}

/** `truss lessons list`. */
export async function listLessons(id: string, { json }: { json?: boolean }, context: Context): Promise<ExitCode> {
  const { place, terminal } = context;
  const { out } = terminal;
  const learned = await lookInto(place, id, (database) => lessonsOf(id, database));
  if (json === true) {
    for (const { ref, lesson, count } of learned)
      await out.write(`${JSON.stringify({ lesson: ref, ...lesson, counters: count })}\n`);
    return EXIT.done;
  }
  if (learned.length === 0) {
    await out.write(`No run of ${id} promoted a lesson.\n`);
    return EXIT.done;
  }
  const head = ['run', 'case', 'title', 'offered', 'rendered', 'cited', 'pass after', 'fail after'];
  const rows = learned.map(({ ref, lesson, count }) => [
    ref.slice(0, ref.indexOf('#')).split('.').slice(1).join('.'),
    oneLine(lesson.case ?? '-', 24),
    oneLine(lesson.title, 60),
    String(count.offered),
    String(count.rendered),
    String(count.cited),
    String(count.after.pass),
    String(count.after.fail),
  ]);
  const align = ['left', 'left', 'left', 'right', 'right', 'right', 'right', 'right'] as const;
  const lines = table([head, ...rows], align, (cell, row) => (row === 0 ? out.paint('dim', cell) : cell));
  await out.write(`${lines.join('\n')}\n`);
  return EXIT.done;
}

/** `truss lessons export`: a file appears whole or not at all. */
export async function exportLessons(
  id: string,
  { output }: { output?: string },
  { place, terminal }: Context,
): Promise<ExitCode> {
  const learned = await lookInto(place, id, (database) => lessonsOf(id, database));
  const proofs = learned.flatMap(({ proof }) => (proof === undefined ? [] : [proof]));
  if (proofs.length === 0)
    throw usageError(`no run of ${id} promoted a lesson that its ledger can prove: there is nothing to export`);
  const bundle = formatBundle(proofs);
  if (output === undefined) {
    await terminal.out.write(bundle);
    return EXIT.done;
  }
  const draft = `${output}.${process.pid}.new`;
  try {
    await writeFile(draft, bundle);
    await rename(draft, output);
  } catch (cause) {
    await rm(draft, { force: true });
    throw usageError(`${output} cannot be written: check that its folder exists and that you may write there`, cause);
  }
  await terminal.err.write(`${plural(proofs.length, 'lesson')} written to ${output}\n`);
  return EXIT.done;
}

/** The promoted lessons of all anchored runs, in the order in which their runs were anchored. */
async function lessonsOf(id: string, database: ReadDatabase): Promise<Learned[]> {
  const evaluation: EvalRunId = evaluationId(id, database.place);
  const keeper = new ProofKeeper();
  const counters = new LessonCounters();
  const held: HeldLesson[] = [];
  let entries = 0;
  const following = await database.log.follow(evaluation, {
    entry(entry, joining) {
      entries += 1;
      keeper.observe(entry, joining);
      if (joining !== 'joined') return;
      counters.observe(entry);
      if (entry.type === 'child_anchor') held.push(...keeper.lessonsOf(entry.body.child_run_id));
    },
  });
  following.stop();
  if (entries === 0 && (await requestOf(database, evaluation)) === null) throw notFound(id, database.place);
  return held.map(({ ref, lesson }) => ({ ref, lesson, count: counters.of(ref), proof: keeper.proof(ref) }));
}
