import { randomBytes, randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { loadContract } from '#lib/contract';
import { type EvalRequested, evaluationOf, plannedRuns, requestDigest } from '#lib/evaluation';
import { type EvalRunId, evalRunId } from '#lib/ledger';
import type { LessonProof } from '#lib/lessons';
import type { Context } from '../commands/context.js';
import { evaluationId, lookInto, notFound, requestOf, withDatabase } from '../database.js';
import { dbOption, filePlace } from '../place.js';
import { CliError, type ExitCode, stoppedError, usageError } from '../exit-codes.js';
import { oneLine, plural, whole } from '../format.js';
import { readParent } from '../read-parent.js';
import { presentReport } from '../report/present.js';
import { brokenBy } from './broken.js';
import { type Driven, drive } from './drive.js';
import { checkModels } from './models.js';
import { pinnedContract } from './pinned-files.js';
import { type EvalFlags, requestFor } from './settings.js';
import { printReport, reporterFor } from './show.js';
import { attachmentOf, proofBytes, readStartingLessons } from './starting-lessons.js';

export interface RunFlags extends EvalFlags {
  readonly contract?: string;
  readonly lessons?: string;
  readonly gate?: boolean;
  readonly progress?: 'bar' | 'plain' | 'json';
  readonly resume?: string;
}

interface Asked {
  readonly evaluation: EvalRunId;
  readonly request: EvalRequested;
  readonly lessons: readonly LessonProof[];
  /** It was asked for before: it is driven on, not asked for again. */
  readonly known: boolean;
}

/** `truss eval`: everything is checked first, then the evaluation is driven to its report. */
export async function runEval(flags: RunFlags, context: Context): Promise<ExitCode> {
  const asked = flags.resume === undefined ? await newRequest(flags, context.db) : await resumed(flags, context.db);
  try {
    return await conclude(await driven(asked, flags, context), asked.evaluation, flags, context);
  } catch (error) {
    // Whoever reads progress as JSON reads this too.
    if (flags.progress !== 'json' || !(error instanceof CliError)) throw error;
    const { exitCode: exit_code, message } = error;
    await context.terminal.err.write(`${JSON.stringify({ event: 'ended', exit_code, message })}\n`);
    return error.exitCode;
  }
}

async function driven(asked: Asked, flags: RunFlags, { db, terminal }: Context): Promise<Driven> {
  const { evaluation, request, lessons, known } = asked;
  if (known) {
    const over = await endBefore(evaluation, db);
    if (over !== null) return over;
    await checkModels(await pinnedContract(request, evaluation), request.max_cost_nano_usd, Date.now());
  }
  const reporter = reporterFor(flags.progress, terminal.err);
  try {
    return await drive({
      db,
      evaluation,
      request,
      tell: (event) => reporter.tell(event),
      stopping: (by) => reporter.tell({ event: 'stopped', reason: by, resume: resumeCommand(evaluation, db) }),
      async ask(embedded) {
        if (known) return;
        for (const proof of lessons) await embedded.open.log.putAttachment(proofBytes(proof));
        await embedded.submit(request);
      },
    });
  } finally {
    await reporter.close();
  }
}

/** How an evaluation ended that is over already: that is read, and nobody need drive it. */
async function endBefore(evaluation: EvalRunId, db: string): Promise<Driven | null> {
  const { started, closed, report, anchors } = await withDatabase(filePlace(db), (database) =>
    readParent(database, evaluation),
  );
  const planned = started === null ? null : plannedRuns(started.body.plan);
  if (report !== null)
    return { end: { kind: 'reported', ref: report.ref, report: report.body }, done: anchors, planned };
  if (closed === null || closed.body.outcome === 'complete') return null;
  return { end: { kind: 'closed', outcome: closed.body.outcome, reason: closed.body.reason }, done: anchors, planned };
}

async function newRequest(flags: RunFlags, db: string): Promise<Asked> {
  if (flags.contract === undefined) {
    throw usageError('nothing says what to evaluate: add --contract FILE, or --resume ID to go on with an evaluation');
  }
  const loaded = await loadContract(flags.contract);
  const earlier = await earlierRequest(flags.requestId, db);
  const settings = requestFor(loaded, flags, {
    seed: () => earlier?.seed ?? randomInt(2 ** 48 - 1),
    requestId: () => randomBytes(16).toString('hex'),
    parallelism: earlier === null ? availableParallelism() : earlier.concurrency * 2,
  });
  if (earlier === null) await checkModels(loaded, settings.max_cost_nano_usd, Date.now());
  const lessons = flags.lessons === undefined ? [] : await readStartingLessons(flags.lessons, db, loaded.contract);
  const request: EvalRequested = {
    ...settings,
    starting_lessons: lessons.map((proof) => ({ lesson: proof.lesson, proof: attachmentOf(proof) })),
  };
  if (earlier !== null && requestDigest(earlier) !== requestDigest(request)) {
    throw usageError(
      `the request id ${flags.requestId} was used in ${db} for another evaluation (${evaluationOf(earlier)}): ` +
        'give another --request-id, or the same contract and settings as then',
    );
  }
  return { evaluation: evaluationOf(request), request, lessons, known: earlier !== null };
}

/** What an earlier `--request-id` asked for: asked again, it names the same evaluation. */
async function earlierRequest(id: string | undefined, db: string): Promise<EvalRequested | null> {
  if (id === undefined || !existsSync(db)) return null;
  return withDatabase(filePlace(db), (database) => requestOf(database, evalRunId('local', id)));
}

async function resumed(flags: RunFlags, db: string): Promise<Asked> {
  const { resume: id = '', gate: _gate, progress: _progress, ...fixed } = flags;
  const [extra] = Object.keys(fixed);
  if (extra !== undefined) {
    const flag = `--${extra.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw usageError(
      `${flag} cannot be given with --resume: the plan of ${id} is fixed. Leave it out, or start a new evaluation`,
    );
  }
  const evaluation = evaluationId(id, filePlace(db));
  const request = await lookInto(filePlace(db), id, (database) => requestOf(database, evaluation));
  if (request === null) throw notFound(id, filePlace(db));
  return { evaluation, request, lessons: [], known: true };
}

function resumeCommand(evaluation: EvalRunId, db: string): string {
  return `truss eval --resume ${evaluation} ${dbOption(db)}`;
}

async function conclude(
  { end, done, planned }: Driven,
  id: EvalRunId,
  flags: RunFlags,
  context: Context,
): Promise<ExitCode> {
  const after = planned === null ? 'before the first run' : `after ${whole(done)} of ${plural(planned, 'run')}`;
  const resume = `Everything that was confirmed is kept. Go on with:\n  ${resumeCommand(id, context.db)}`;
  switch (end.kind) {
    case 'reported':
      return printReport(presentReport(end.report, end.ref), flags, { ...context, option: dbOption(context.db) });
    case 'closed':
      throw stoppedError(
        `${id} was ${end.outcome === 'failed' ? 'ended' : 'cancelled'} ${after}: ${oneLine(end.reason)}. There is no report. Its ledger stays:\n` +
          `  truss ledger ${id} ${dbOption(context.db)}`,
      );
    case 'refused':
      throw usageError(`the evaluation was refused: ${end.reason}`);
    case 'interrupted':
      throw stoppedError(`by ${end.by}, ${after}. ${resume}`);
    case 'broken': {
      const { why, exitCode } = brokenBy(end.error);
      throw new CliError(exitCode, `${why} (${after}). ${resume}`, { cause: end.error });
    }
    default:
      return end satisfies never;
  }
}
