import { setTimeout as wait } from 'node:timers/promises';
import { plannedRuns } from '#lib/evaluation';
import type { TopicRecord, Topics } from '#lib/event-log';
import type { EvalRunId } from '#lib/ledger';
import { EvaluationViews } from '#lib/runtime';
import type { ReadDatabase } from '../database.js';
import type { Driven, DriveEnd } from '../evaluate/drive.js';
import { onInterrupt } from '../evaluate/interrupt.js';
import type { ProgressEvent } from '../progress/events.js';
import { watchEvaluation } from '../progress/watch.js';
import type { Asked } from './ask.js';

const LOOK_MS = 500;

export interface Waiting {
  readonly cluster: ReadDatabase;
  readonly asked: Asked;
  readonly tell: (event: ProgressEvent) => void;
  /** Publishes the request, once the dead letters of before are known. */
  readonly send: () => Promise<void>;
}

/** Follows what others drive until it has ended, is refused, or nobody waits any more. */
export async function waitForEnd({ cluster, asked, tell, send }: Waiting): Promise<Driven> {
  const { evaluation } = asked;
  const ended = Promise.withResolvers<DriveEnd>();
  const stopListening = onInterrupt((by) => ended.resolve({ kind: 'interrupted', by }));
  const before = new Set<string>();
  for await (const letter of lettersOf(cluster.topics, evaluation)) before.add(placeOf(letter));
  const views = new EvaluationViews({ log: cluster.log });
  const over = new AbortController();
  try {
    await send();
    const open = await views.open(evaluation);
    watchEvaluation(open, tell);
    const look = (): void => {
      const { started, closed, report } = open.view.state;
      if (started !== null && started.body.request_digest !== asked.digest) return ended.resolve(conflict(asked));
      if (closed === null) return;
      const { outcome, reason } = closed.body;
      if (outcome !== 'complete') ended.resolve({ kind: 'closed', outcome, reason });
      else if (report !== null) ended.resolve({ kind: 'reported', ref: report.ref, report: report.body });
    };
    open.subscribe((entry) => {
      if (entry.ledger === evaluation) look();
    });
    look();
    const begun = () => open.view.state.started !== null;
    watchLetters(cluster.topics, evaluation, before, begun, over.signal).then(
      (reason) => reason !== null && ended.resolve({ kind: 'refused', reason }),
      (error) => ended.resolve({ kind: 'broken', error }),
    );
    const end = await ended.promise;
    const plan = open.view.state.started?.body.plan;
    return { end, done: open.view.state.anchors, planned: plan === undefined ? null : plannedRuns(plan) };
  } finally {
    over.abort();
    await views.close(evaluation);
    stopListening();
  }
}

function conflict({ request: { request_id, requester } }: Asked): DriveEnd {
  const reason = `request ${request_id} of ${requester} was made before with another content: give another --request-id, or the same contract and settings as then`;
  return { kind: 'refused', reason };
}

/** Why intake refused it; `null` once it has begun: from then on nobody does. */
async function watchLetters(
  topics: Topics,
  evaluation: EvalRunId,
  before: ReadonlySet<string>,
  begun: () => boolean,
  over: AbortSignal,
): Promise<string | null> {
  while (!begun() && !over.aborted) {
    for await (const letter of lettersOf(topics, evaluation)) {
      if (before.has(placeOf(letter))) continue;
      const { reason } = (letter.value ?? {}) as { reason?: unknown };
      return typeof reason === 'string' ? reason : 'no reason was given';
    }
    await wait(LOOK_MS, undefined, { signal: over }).catch(() => {});
  }
  return null;
}

/** What was refused of it: anybody can have put rubbish under its key on another topic. */
async function* lettersOf(topics: Topics, evaluation: EvalRunId): AsyncGenerator<TopicRecord> {
  for await (const record of topics.list('eval.dead-letter')) {
    if (record.key !== evaluation) continue;
    const { topic } = (record.value ?? {}) as { topic?: unknown };
    if (topic === 'eval.requested' || topic === 'eval.accepted') yield record;
  }
}

function placeOf({ partition, position }: TopicRecord): string {
  return `${partition}/${position}`;
}
