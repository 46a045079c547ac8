import type { Context } from '../commands/context.js';
import { type ReadDatabase, withDatabase } from '../database.js';
import type { Driven } from '../evaluate/drive.js';
import { printReport, type ProgressStyle, reporterFor } from '../evaluate/show.js';
import { CliError, EXIT, type ExitCode, stoppedError, usageError } from '../exit-codes.js';
import { oneLine, plural, whole } from '../format.js';
import { presentReport } from '../report/present.js';
import { brokenBy } from '../evaluate/broken.js';
import { type Asked, type AskFlags, askFor } from './ask.js';
import { waitForEnd } from './wait.js';

export interface RequestFlags extends AskFlags {
  readonly wait?: boolean;
  readonly gate?: boolean;
  readonly progress?: ProgressStyle;
}

/** `truss request`: asks the services of a cluster for an evaluation, and with `--wait` follows it to its report. */
export async function runRequest(flags: RequestFlags, context: Pick<Context, 'place' | 'terminal'>): Promise<ExitCode> {
  return withDatabase(context.place, (cluster) => requestFrom(cluster, flags, context));
}

async function requestFrom(
  cluster: ReadDatabase,
  flags: RequestFlags,
  { place, terminal }: Pick<Context, 'place' | 'terminal'>,
): Promise<ExitCode> {
  const asked = await askFor(flags, cluster, Date.now());
  const send = async () => void (await cluster.topics.publish('eval.requested', asked.evaluation, asked.request));
  if (flags.wait !== true) {
    await send();
    await terminal.out.write(`${asked.evaluation}\n`);
    await terminal.err.write(
      `Asked for. Its report, once it is there: truss report ${asked.evaluation} ${place.option}\n`,
    );
    return EXIT.done;
  }
  const reporter = reporterFor(flags.progress, terminal.err);
  let driven: Driven;
  try {
    driven = await waitForEnd({ cluster, asked, send, tell: (event) => reporter.tell(event) });
  } finally {
    await reporter.close();
  }
  return conclude(driven, asked, flags, { option: place.option, terminal });
}

function conclude(
  { end, done, planned }: Driven,
  { evaluation }: Asked,
  flags: RequestFlags,
  at: { readonly option: string; readonly terminal: Context['terminal'] },
): Promise<ExitCode> {
  const after = planned === null ? 'before the first run' : `after ${whole(done)} of ${plural(planned, 'run')}`;
  switch (end.kind) {
    case 'reported':
      return printReport(presentReport(end.report, end.ref), flags, at);
    case 'closed':
      throw stoppedError(
        `${evaluation} was ${end.outcome === 'failed' ? 'ended' : 'cancelled'} ${after}: ${oneLine(end.reason)}. There is no report. Its ledger stays:\n` +
          `  truss ledger ${evaluation} ${at.option}`,
      );
    case 'refused':
      throw usageError(`the evaluation was refused: ${end.reason}`);
    case 'interrupted':
      throw stoppedError(
        `${end.by}: nobody waits for ${evaluation} any more, and it goes on (${after}). Its report, once it is there:\n` +
          `  truss report ${evaluation} ${at.option}\nor end it with:\n  truss cancel ${evaluation} ${at.option}`,
      );
    case 'broken': {
      const { why, exitCode } = brokenBy(end.error);
      throw new CliError(exitCode, `${why} (${after}). ${evaluation} goes on without anybody waiting for it`, {
        cause: end.error,
      });
    }
    default:
      return end satisfies never;
  }
}
