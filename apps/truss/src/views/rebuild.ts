import type { ViewDifference, Views } from '#lib/views';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { plural } from '../format.js';
import type { Terminal } from '../terminal.js';
import { type BuildInput, buildViews } from './build.js';

export interface RebuildFlags {
  /** Compares, and shows the readers nothing new. */
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export interface RebuildPorts extends Omit<BuildInput, 'views' | 'progress'> {
  readonly views: Views;
}

/** More than these are only counted, unless for a program. */
const LISTED = 20;

/** `truss views rebuild`. */
export async function runRebuild(flags: RebuildFlags, ports: RebuildPorts, { out, err }: Terminal): Promise<ExitCode> {
  const next = await ports.views.next();
  let shown = 0;
  const progress = (records: number, ended: number) => {
    if (!err.isTerminal || performance.now() < shown + 100) return;
    shown = performance.now();
    void err.write(`\r${plural(records, 'record')} read, ${plural(ended, 'evaluation')} at their end`);
  };
  const differences = { missing: 0, extra: 0, position: 0, differs: 0 };
  try {
    const { records, evaluations } = await buildViews({ ...ports, views: next, progress });
    if (shown > 0) await err.write('\n');
    await err.write(`${plural(records, 'record')} read, ${plural(evaluations, 'evaluation')} built\n`);
    let listed = 0;
    for await (const difference of next.differences()) {
      differences[difference.kind] += 1;
      if (flags.json === true) await out.write(`${JSON.stringify(difference)}\n`);
      else if (++listed <= LISTED) await out.write(`${sentence(difference)}\n`);
      else if (listed === LISTED + 1) await out.write('… and more (--json lists them all)\n');
    }
    if (flags.dryRun === true) await next.discard();
    else await next.show();
  } catch (error) {
    // What is left of it is cleared by the next one.
    await next.discard().catch(() => {});
    throw error;
  }
  await err.write(`${conclusion(differences)}\n`);
  await err.write(
    flags.dryRun === true
      ? 'Nothing was changed.\n'
      : `The views that were built are shown now: version ${next.version}\n`,
  );
  return EXIT.done;
}

/** `truss views status`. */
export async function runStatus({ json }: { json?: boolean }, views: Views, { out }: Terminal): Promise<ExitCode> {
  const status = await views.status();
  if (json === true) await out.write(`${JSON.stringify(status)}\n`);
  else {
    const { format, version, evaluations, building } = status;
    await out.write(`${plural(evaluations, 'evaluation')} in version ${version} of format ${format}\n`);
    if (building !== null) await out.write(`version ${building} is being built (or its builder died: rebuild again)\n`);
  }
  return EXIT.done;
}

function sentence(difference: ViewDifference): string {
  const { kind, evaluation } = difference;
  switch (kind) {
    case 'missing':
      return `${evaluation} is in the log and was not shown`;
    case 'extra':
      return `${evaluation} was shown and is not in the log`;
    case 'position':
      return `${evaluation} was shown as of another position`;
    case 'differs':
      return `${evaluation}: the ${difference.view} ${difference.key}`.trimEnd() + ' was shown otherwise';
    default:
      return kind satisfies never;
  }
}

function conclusion({ missing, extra, position, differs }: Readonly<Record<ViewDifference['kind'], number>>): string {
  if (missing + extra + position + differs === 0) return 'What was shown is what the log says.';
  const parts = [
    [missing, 'missing'],
    [extra, 'not in the log'],
    [position, 'as of another position'],
  ] as const;
  const said = parts.filter(([count]) => count > 0).map(([count, what]) => `${plural(count, 'evaluation')} ${what}`);
  if (differs > 0) said.push(`${plural(differs, 'row')} that ${differs === 1 ? 'differs' : 'differ'}`);
  return `In what was shown: ${said.join(', ')}.`;
}
