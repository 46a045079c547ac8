import { type EvalRequested, plannedRuns } from '#lib/evaluation';
import type { EvalRunId, JsonObject, LedgerRef } from '#lib/ledger';
import type { OpenView } from '#lib/runtime';
import type { Embedded } from '../embedded.js';
import type { ProgressEvent } from '../progress/events.js';
import { watchEvaluation } from '../progress/watch.js';
import { onInterrupt } from './interrupt.js';

/** How driving an evaluation ended. */
export type DriveEnd =
  | { readonly kind: 'reported'; readonly ref: LedgerRef; readonly report: JsonObject }
  | { readonly kind: 'closed'; readonly outcome: 'cancelled' | 'failed'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: string }
  /** Stopped from outside: everything that was confirmed is kept, and it can be driven again. */
  | { readonly kind: 'interrupted'; readonly by: string }
  /** Stopped by an error: the same holds. */
  | { readonly kind: 'broken'; readonly error: unknown };

export interface Drive {
  readonly db: string;
  readonly evaluation: EvalRunId;
  readonly request: EvalRequested;
  /** What is asked of the services once the database is open. */
  readonly ask: (embedded: Embedded) => Promise<void>;
  /** False: nothing is run any more, as for a cancel. */
  readonly runs?: boolean;
  readonly tell: (event: ProgressEvent) => void;
  /** Told when a first signal came, while what is being written is finished. */
  readonly stopping?: (by: string) => void;
}

/** How many runs stood in the ledger when driving ended, where that is known. */
export interface Driven {
  readonly end: DriveEnd;
  readonly done: number;
  readonly planned: number | null;
}

/**
 * Drives one evaluation in this process until it has ended or is stopped.
 * @throws LogError, KeyStoreError where the database cannot be opened; then nothing was written
 */
export async function drive(options: Drive): Promise<Driven> {
  const ended = Promise.withResolvers<DriveEnd>();
  const stopListening = onInterrupt((by) => {
    options.stopping?.(by);
    ended.resolve({ kind: 'interrupted', by });
  });
  let embedded: Embedded | null = null;
  let open: OpenView | null = null;
  let end: DriveEnd;
  try {
    const { openEmbedded } = await import('../embedded.js');
    embedded = await openEmbedded({
      db: options.db,
      runs: options.runs ?? true,
      fatal: (error) => ended.resolve({ kind: 'broken', error }),
    });
    open = await follow(embedded, options, ended.resolve);
    await watchDeadLetters(embedded, options.evaluation, (reason) => ended.resolve({ kind: 'refused', reason }));
    await options.ask(embedded);
    await embedded.start();
    end = await ended.promise;
  } catch (error) {
    if (open === null) throw error;
    end = { kind: 'broken', error };
  } finally {
    await embedded?.stop();
    stopListening();
  }
  const plan = open.view.state.started?.body.plan;
  return { end, done: open.view.state.anchors, planned: plan === undefined ? null : plannedRuns(plan) };
}

async function follow(embedded: Embedded, options: Drive, ended: (end: DriveEnd) => void): Promise<OpenView> {
  const { evaluation, request } = options;
  const [contract] = request.contracts;
  const [files] = request.files;
  if (contract !== undefined && files !== undefined && 'directory' in files) embedded.locate(contract.digest, files);
  embedded.drive(evaluation);
  const open = await embedded.follow(evaluation);
  watchEvaluation(open, options.tell);
  const look = (): void => {
    const { closed, report } = open.view.state;
    if (closed === null) return;
    const { outcome, reason } = closed.body;
    if (outcome !== 'complete') ended({ kind: 'closed', outcome, reason });
    else if (report !== null) ended({ kind: 'reported', ref: report.ref, report: report.body });
  };
  open.subscribe((entry) => {
    if (entry.ledger === evaluation) look();
  });
  look();
  return open;
}

/** A request that the services refuse is answered there, and would otherwise be waited for for ever. */
async function watchDeadLetters(
  { open: { topics } }: Embedded,
  evaluation: EvalRunId,
  refused: (reason: string) => void,
): Promise<void> {
  let last = 0;
  for await (const { position } of topics.list('eval.dead-letter')) last = position;
  await topics.consume('eval.dead-letter', 'truss', {
    record: ({ position, key, value }) => {
      if (position <= last || key !== evaluation) return;
      const { reason } = (value ?? {}) as { reason?: unknown };
      refused(typeof reason === 'string' ? reason : 'no reason was given');
    },
  });
}
