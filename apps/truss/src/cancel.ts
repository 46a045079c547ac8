import { setTimeout as wait } from 'node:timers/promises';
import { LogError } from '#lib/event-log';
import type { EvaluationState, EvalRequested } from '#lib/evaluation';
import type { EvalRunId } from '#lib/ledger';
import type { Context } from './commands/context.js';
import { evaluationId, lookInto, notFound, type ReadDatabase, requestOf, withDatabase } from './database.js';
import { dbOption, filePlace } from './place.js';
import { drive } from './evaluate/drive.js';
import { type CliError, EXIT, type ExitCode, stoppedError, usageError } from './exit-codes.js';
import { oneLine, plural } from './format.js';
import { readParent } from './read-parent.js';

/** How long a living driver may take until it has closed the evaluation. */
const PATIENCE_MS = 15_000;
/** A driver hears of a cancel within 200 ms and closes at once. One that writes nothing for so long drives another evaluation. */
const QUIET_MS = 3_000;
const LOOK_MS = 200;

/** `truss cancel`: asks the process that drives the database, or drives the evaluation itself just to its close. */
export async function runCancel(id: string, reason: string, { db, terminal: { out } }: Context): Promise<ExitCode> {
  const evaluation = evaluationId(id, filePlace(db));
  const request = await lookInto(filePlace(db), id, async (database) => {
    const known = await requestOf(database, evaluation);
    const state = await readParent(database, evaluation);
    if (known === null && state.started === null) throw notFound(id, filePlace(db));
    assertOpen(state, id);
    return known;
  });
  if (request === null) throw notFound(id, filePlace(db));
  const message = { kind: 'cancel', eval_run_id: evaluation, reason } as const;
  let state: EvaluationState | null;
  try {
    await driveToClose(evaluation, request, message, db);
    state = await withDatabase(filePlace(db), (database) => readParent(database, evaluation));
  } catch (error) {
    if (!(error instanceof LogError && error.code === 'log_busy')) throw error;
    state = await withDatabase(filePlace(db), async (database) => {
      await database.topics.publish('eval.requested', evaluation, message);
      return closeOf(database, evaluation);
    });
  }
  if (state === null) {
    throw stoppedError(
      `the cancel of ${id} is recorded, and nothing has come of it yet: another process drives ${db}, and as it seems ` +
        `another evaluation. It takes effect when ${id} is driven next. Once that process has ended, do so with:\n` +
        `  truss cancel ${id} ${dbOption(db)}`,
    );
  }
  if (state.closed?.body.outcome === 'complete') throw tooLate(id);
  await out.write(
    `${id} is ${state.closed?.body.outcome ?? 'open'}: ${plural(state.anchors, 'run')} of it stay recorded.\n`,
  );
  return EXIT.done;
}

/** @throws CliError for an evaluation that is over */
export function assertOpen({ closed }: EvaluationState, id: string): void {
  if (closed === null) return;
  if (closed.body.outcome === 'complete') throw tooLate(id);
  throw usageError(
    `${id} was ${closed.body.outcome === 'failed' ? 'ended' : 'cancelled'} before: ${oneLine(closed.body.reason)}`,
  );
}

export function tooLate(id: string): CliError {
  return usageError(`${id} is complete, so there is nothing to cancel: truss report ${id} prints its report`);
}

async function driveToClose(
  evaluation: EvalRunId,
  request: EvalRequested,
  message: { readonly kind: 'cancel'; readonly eval_run_id: EvalRunId; readonly reason: string },
  db: string,
): Promise<void> {
  const { end } = await drive({
    db,
    evaluation,
    request,
    runs: false,
    tell: () => {},
    ask: async ({ open }) => void (await open.topics.publish('eval.requested', evaluation, message)),
  });
  if (end.kind === 'broken') throw end.error;
  if (end.kind === 'interrupted')
    throw stoppedError(`stopped by ${end.by} before ${evaluation} was closed: cancel it again`);
  if (end.kind === 'refused') throw usageError(`the cancel was refused: ${end.reason}`);
}

/** The evaluation once it is closed; `null` when nobody closes it. */
async function closeOf(database: ReadDatabase, evaluation: EvalRunId): Promise<EvaluationState | null> {
  const begun = performance.now();
  let [entries, grownAt] = [0, begun];
  while (performance.now() - begun < PATIENCE_MS) {
    const state = await readParent(database, evaluation);
    if (state.closed !== null) return state;
    const found = await countOf(database.log.records(evaluation));
    const now = performance.now();
    if (found > entries) [entries, grownAt] = [found, now];
    else if (now - grownAt > QUIET_MS) return null;
    await wait(LOOK_MS);
  }
  return null;
}

async function countOf(records: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of records) count += 1;
  return count;
}
