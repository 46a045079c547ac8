import type { EvalReport } from '#lib/evaluation';
import type { Context } from '../commands/context.js';
import { evaluationId, notFound, type ReadDatabase, requestOf, lookInto } from '../database.js';
import { EXIT, type ExitCode, stoppedError } from '../exit-codes.js';
import { oneLine, plural } from '../format.js';
import { readParent } from '../read-parent.js';
import { markdownReport } from './markdown.js';
import { presentReport } from './present.js';

/** `truss report`: the body of the `eval_report` that joined the chain, with the ref of its entry. */
export async function runReport(id: string, format: 'json' | 'md', { place, terminal }: Context): Promise<ExitCode> {
  const report = await lookInto(place, id, (database) => reportOf(id, database));
  const text = format === 'json' ? `${JSON.stringify(report, null, 2)}\n` : markdownReport(report);
  await terminal.out.write(text);
  return EXIT.done;
}

/** @throws CliError where it is unknown, or has no report */
export async function reportOf(id: string, database: ReadDatabase): Promise<EvalReport> {
  const { place } = database;
  const evaluation = evaluationId(id, place);
  const state = await readParent(database, evaluation);
  if (state.report !== null) return presentReport(state.report.body, state.report.ref);
  const known = state.started !== null || (await requestOf(database, evaluation)) !== null;
  if (!known) throw notFound(id, place);
  if (state.closed !== null && state.closed.body.outcome !== 'complete') {
    const { outcome, reason, anchors } = state.closed.body;
    throw stoppedError(
      `${id} has no report: it was ${outcome === 'failed' ? 'ended' : 'cancelled'} after ${plural(anchors, 'run')} (${oneLine(reason)})`,
    );
  }
  const runs = `${plural(state.anchors, 'run')} of it ${state.anchors === 1 ? 'is' : 'are'} done`;
  if (await place.isDriven())
    throw stoppedError(`${id} has no report yet: ${runs}, and a process drives ${place.name} now`);
  throw stoppedError(`${id} has no report yet: ${runs}. Go on with:\n  truss eval --resume ${id} ${place.option}`);
}
