import { duration, oneLine, plural, usd, whole } from '../format.js';
import type { Output } from '../terminal.js';
import type { ProgressEvent, Reporter } from './events.js';

/** How an amount of money reads where it may be unknown. */
export function costText(nano: number | null): string {
  return nano === null ? 'unknown' : usd(nano);
}

export function armText(arm: string): string {
  return arm === 'on' || arm === 'off' ? `learning ${arm}` : arm;
}

/** The line in which an evaluation introduces itself. */
export function startedLine(event: Extract<ProgressEvent, { event: 'evaluation_started' }>): string {
  const { contract_id, repeats, replicates, runs_planned, runs_done, seed, concurrency, eval_run_id } = event;
  const size = `${plural(repeats, 'repeat')} x ${plural(replicates, 'replicate')} x 2 arms = ${plural(runs_planned, 'run')}`;
  const done = event.resumed ? `, ${whole(runs_done)} of them done` : '';
  return `${eval_run_id}  ${contract_id}: ${size}${done}, seed ${seed}, ${plural(concurrency, 'pair')} at a time`;
}

export function stoppingLine({ reason }: Extract<ProgressEvent, { event: 'stopped' }>): string {
  return `${reason}: finishing what is being written; once more ends at once`;
}

/** One line for each run that ends: for logs, and for everything that is no terminal. */
export function plainReporter(err: Output, now: () => number): Reporter {
  const begun = new Map<string, number>();
  let planned = 0;
  let writing = Promise.resolve();
  const line = (text: string): void => {
    writing = writing.then(() => err.write(`${text}\n`)).catch(() => {});
  };
  return {
    tell(event) {
      switch (event.event) {
        case 'evaluation_started':
          planned = event.runs_planned;
          return line(startedLine(event));
        case 'run_started':
          begun.set(event.child_run_id, now());
          return;
        case 'run_ended': {
          const since = begun.get(event.child_run_id);
          begun.delete(event.child_run_id);
          return line(endedLine(event, planned, since === undefined ? null : now() - since));
        }
        case 'evaluation_closed':
          if (event.outcome !== 'complete') line(`closed: ${event.outcome}, ${oneLine(event.reason)}`);
          return;
        case 'stopped':
          return line(stoppingLine(event));
        case 'run_reported':
        case 'evaluation_reported':
          return;
        default:
          event satisfies never;
      }
    },
    close: () => writing,
  };
}

function endedLine(event: Extract<ProgressEvent, { event: 'run_ended' }>, planned: number, ms: number | null): string {
  const width = whole(planned).length;
  const place = `replicate ${event.replicate} repeat ${event.repeat}`;
  const parts = [
    `[${whole(event.runs_done).padStart(width)}/${whole(planned)}]`,
    armText(event.arm).padEnd(12),
    event.case === null ? place : `${place} ${oneLine(event.case, 40)}`,
    ` ${event.verdict}`,
  ];
  if (event.verdict !== 'pass' && event.reason !== '') parts.push(`(${oneLine(event.reason, 120)})`);
  parts.push(` ${plural(event.usage.steps, 'step')}`);
  if (event.usage.cost_nano_usd !== 0) parts.push(` cost ${costText(event.usage.cost_nano_usd)}`);
  if (event.lessons_rendered > 0) parts.push(` ${plural(event.lessons_rendered, 'lesson')} recalled`);
  if (event.lessons_promoted > 0) parts.push(` ${plural(event.lessons_promoted, 'lesson')} promoted`);
  if (ms !== null) parts.push(` ${duration(ms)}`);
  return parts.join(' ');
}
